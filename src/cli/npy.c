/* SPDX-License-Identifier: Apache-2.0
 *
 * npy.c - numpy's .npy files: magic, version, a header that is a Python dict of three known keys, then the data. Only
 * what a tensor of the IR can be: C order, little-endian, rank up to 8, below 2 GB. Anything else is an error text.
 */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEADER_MAX_BYTES = 65536, PREFIX_BYTES = 10 };

static const struct {
    const char *name, *descr;
} codes[] = {{"int8", "|i1"},  {"uint8", "|u1"},   {"int16", "<i2"}, {"int32", "<i4"},
             {"int64", "<i8"}, {"float32", "<f4"}, {"bool", "|b1"}};

static const char *descr_of(cgc_dtype dtype)
{
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        if (strcmp(codes[i].name, cgc_dtype_name(dtype)) == 0)
            return codes[i].descr;
    }
    return "";
}

/* After key and colon in the header, or NULL. */
static const char *value_of(const char *header, const char *key)
{
    const char *at = strstr(header, key);
    if (!at)
        return NULL;
    at += strlen(key);
    at += strspn(at, " :");
    return at;
}

static const char *check_shape(const char *at, const cgc_tensor *want)
{
    if (!at || *at++ != '(')
        return "its header has no shape";
    int32_t rank = 0;
    for (; rank <= want->rank; rank++) {
        at += strspn(at, " ,");
        if (*at == ')')
            break;
        char *end;
        long long dim = strtoll(at, &end, 10);
        if (end == at)
            return "its header has an unreadable shape";
        if (rank == want->rank || dim != want->dims[rank])
            return "its shape is not the input's";
        at = end;
    }
    return rank == want->rank ? NULL : "its shape is not the input's";
}

static const char *check_header(const char *header, const cgc_tensor *want)
{
    const char *descr = value_of(header, "'descr'"), *order = value_of(header, "'fortran_order'");
    const char *wanted = descr_of(want->dtype);
    if (!descr || *descr != '\'' || !order)
        return "its header is unreadable";
    if (strncmp(descr + 1, wanted, strlen(wanted)) != 0 || descr[1 + strlen(wanted)] != '\'')
        return "its element type is not the input's";
    if (strncmp(order, "False", 5) != 0)
        return "it is in Fortran order: save numpy.ascontiguousarray(x)";
    return check_shape(value_of(header, "'shape'"), want);
}

/* Reads the header into text; the file then stands at the data. */
static const char *read_header(FILE *f, char *text)
{
    unsigned char prefix[12];
    if (fread(prefix, 1, PREFIX_BYTES, f) != PREFIX_BYTES || memcmp(prefix, "\x93NUMPY", 6) != 0)
        return "it is not a .npy file";
    size_t bytes = (size_t)prefix[8] | (size_t)prefix[9] << 8;
    if (prefix[6] > 3 || prefix[6] == 0)
        return "its format version is unknown";
    if (prefix[6] > 1) {
        if (fread(prefix + 10, 1, 2, f) != 2)
            return "it ends in the header";
        bytes |= (size_t)prefix[10] << 16 | (size_t)prefix[11] << 24;
    }
    if (bytes >= HEADER_MAX_BYTES)
        return "its header is too long";
    if (fread(text, 1, bytes, f) != bytes)
        return "it ends in the header";
    text[bytes] = '\0';
    return NULL;
}

static const char *read_data(FILE *f, cgc_tensor *t)
{
    char more;
    t->data = malloc(t->bytes ? t->bytes : 1);
    if (!t->data)
        return "out of memory";
    if (fread(t->data, 1, t->bytes, f) == t->bytes && fread(&more, 1, 1, f) == 0 && !ferror(f))
        return NULL;
    free(t->data);
    t->data = NULL;
    return "its size does not fit its shape";
}

const char *npy_read(const char *path, cgc_tensor *type)
{
    char *header = malloc(HEADER_MAX_BYTES);
    FILE *f = header ? fopen(path, "rb") : NULL;
    const char *wrong = header ? "it cannot be opened" : "out of memory";
    if (f) {
        wrong = read_header(f, header);
        if (!wrong)
            wrong = check_header(header, type);
        if (!wrong)
            wrong = read_data(f, type);
        (void)fclose(f);
    }
    free(header);
    return wrong;
}

/* Version 1.0; the data begins at a multiple of 64. */
static bool write_all(FILE *f, const cgc_tensor *t)
{
    char header[512];
    int n = snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                     descr_of(t->dtype));
    for (int32_t d = 0; d < t->rank; d++)
        n += snprintf(header + n, sizeof header - (size_t)n, "%lld, ", (long long)t->dims[d]);
    n += snprintf(header + n, sizeof header - (size_t)n, "), }");
    int padded = (PREFIX_BYTES + n + 1 + 63) / 64 * 64 - PREFIX_BYTES;
    unsigned char prefix[PREFIX_BYTES] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
    prefix[8] = (unsigned char)(padded & 255);
    prefix[9] = (unsigned char)(padded >> 8);
    bool ok = fwrite(prefix, 1, PREFIX_BYTES, f) == PREFIX_BYTES;
    ok = ok && fprintf(f, "%-*s\n", padded - 1, header) == padded;
    return ok && fwrite(t->data, 1, t->bytes, f) == t->bytes;
}

const char *npy_write(const char *path, const cgc_tensor *t)
{
    char temporary[4200];
    int n = snprintf(temporary, sizeof temporary, "%s.tmp%ld", path, (long)getpid());
    if (n < 0 || (size_t)n >= sizeof temporary)
        return "the path is too long";
    FILE *f = fopen(temporary, "wb");
    if (!f)
        return "it cannot be written";
    bool ok = write_all(f, t);
    ok = fclose(f) == 0 && ok;
    if (ok && rename(temporary, path) == 0)
        return NULL;
    (void)unlink(temporary);
    return "it cannot be written";
}
