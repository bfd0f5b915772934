/* SPDX-License-Identifier: Apache-2.0
 *
 * replay.c - main of a fuzz target without libFuzzer: each argument is a file or a folder of files,
 * each given once to LLVMFuzzerTestOneInput, whole and cut short. Exit 0, 77 when there was no
 * file, or a trap of the target.
 */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { MAX_BYTES = 1 << 22 };

static int replay_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    uint8_t *data = malloc(MAX_BYTES);
    if (!f || !data) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(1);
    }
    size_t n = fread(data, 1, MAX_BYTES, f);
    (void)fclose(f);
    printf("%s (%zu bytes)\n", path, n);
    (void)fflush(stdout); /* so that the file that traps is known */
    (void)LLVMFuzzerTestOneInput(data, n);
    for (size_t cut = 0; cut < n; cut += 1 + n / 64)
        (void)LLVMFuzzerTestOneInput(data, cut);
    free(data);
    return 1;
}

static int replay(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
        return replay_file(path);
    DIR *dir = opendir(path);
    int count = 0;
    for (const struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        char name[4096];
        int n = snprintf(name, sizeof name, "%s/%s", path, e->d_name);
        if (e->d_name[0] != '.' && n > 0 && (size_t)n < sizeof name)
            count += replay_file(name);
    }
    if (dir)
        (void)closedir(dir);
    return count;
}

int main(int argc, char **argv)
{
    int count = 0;
    for (int i = 1; i < argc; i++)
        count += replay(argv[i]);
    printf("%d files\n", count);
    return count ? 0 : 77;
}
