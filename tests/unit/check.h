/* SPDX-License-Identifier: Apache-2.0
 *
 * check.h - the whole test framework: CHECK counts and prints what failed, check_done gives the
 * exit status.
 */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <string.h>

static int check_failures;

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            check_failures++;                                                                      \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond);                             \
        }                                                                                          \
    } while (0)

/* Equal strings, else both are shown. */
#define CHECK_STR(found, wanted)                                                                   \
    do {                                                                                           \
        const char *found_ = (found), *wanted_ = (wanted);                                         \
        if (!found_ || strcmp(found_, wanted_) != 0) {                                             \
            check_failures++;                                                                      \
            fprintf(stderr, "%s:%d: found  [%s]\nwanted [%s]\n", __FILE__, __LINE__,               \
                    found_ ? found_ : "NULL", wanted_);                                            \
        }                                                                                          \
    } while (0)

static inline int check_done(void)
{
    if (check_failures)
        fprintf(stderr, "%d failed\n", check_failures);
    return check_failures ? 1 : 0;
}

#endif
