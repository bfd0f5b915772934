/* SPDX-License-Identifier: Apache-2.0
 *
 * table_s8 - y = table[x + 128]: any function of one int8 value.
 */
#include "ccl.h"

void ccl_table_s8(const int8_t table[256], const int8_t *x, int8_t *y, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        y[i] = table[x[i] + 128];
}
