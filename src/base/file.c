/* SPDX-License-Identifier: Apache-2.0
 *
 * file.c - the only place that opens files. Reading: path -> whole contents in an arena. Writing:
 * temporary name beside the target, fsync, rename, so that a reader sees the old or the new file
 * and never half of one. Nothing that can run out of memory happens while a file is open.
 */
#if defined(__linux__)
#define _GNU_SOURCE 1 /* syscall(), for the exchange of two folders in one step */
#endif
#include "base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif
#include <unistd.h>

enum { MAX_TREE_DEPTH = 64, MAX_TEMP_TRIES = 1000 };

static cgc_status fail(cgc_ctx *ctx, const char *verb, const char *path, int error)
{
    return diag(ctx, CGC_E_FILE, (diag_info){0}, "cannot %s '%s': %s", verb, path, strerror(error));
}

bool path_exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

bool path_is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Reads exactly bytes from a file that must end there. 0 or an errno value; -1 if the size
 * changed. */
static int read_all(const char *path, char *data, size_t bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    size_t done = 0;
    int error = 0;
    for (;;) {
        char beyond;
        ssize_t n = done < bytes ? read(fd, data + done, bytes - done) : read(fd, &beyond, 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            error = errno;
        else if (n == 0)
            error = done == bytes ? 0 : -1;
        else if (done == bytes)
            error = -1;
        else {
            done += (size_t)n;
            continue;
        }
        break;
    }
    (void)close(fd);
    return error;
}

cgc_status file_read(cgc_ctx *ctx, arena *a, const char *path, size_t max_bytes, char **out_data,
                     size_t *out_bytes)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return fail(ctx, "read", path, errno);
    if (!S_ISREG(st.st_mode))
        return diag(ctx, CGC_E_FILE, (diag_info){.wanted = "a regular file"}, "cannot read '%s'",
                    path);
    size_t bytes = (size_t)st.st_size;
    if ((uintmax_t)st.st_size > max_bytes) {
        diag_info info = {.found = arena_printf(&ctx->arena, "%ju bytes", (uintmax_t)st.st_size),
                          .wanted = arena_printf(&ctx->arena, "at most %zu", max_bytes)};
        return diag(ctx, CGC_E_LIMIT, info, "'%s' is too large", path);
    }
    char *data = arena_alloc(a, bytes + 1);
    int error = read_all(path, data, bytes);
    if (error == -1)
        return diag(ctx, CGC_E_FILE, (diag_info){.cure = "read it again when nobody writes it"},
                    "'%s' changed its size while it was read", path);
    if (error)
        return fail(ctx, "read", path, error);
    *out_data = data;
    *out_bytes = bytes;
    return CGC_OK;
}

/* Writes and syncs an open file and closes it. 0 or an errno value. */
static int write_all(int fd, const char *data, size_t bytes)
{
    int error = 0;
    while (bytes && !error) {
        ssize_t n = write(fd, data, bytes);
        if (n >= 0) {
            data += n;
            bytes -= (size_t)n;
        } else if (errno != EINTR) {
            error = errno;
        }
    }
    if (!error && fsync(fd) != 0 && errno != EINVAL && errno != ENOSYS)
        error = errno;
    if (close(fd) != 0 && !error)
        error = errno;
    return error;
}

/* A name beside path that nobody uses: "path.tmp<pid>_<try>". */
static void temp_name(char *text, size_t room, const char *path, int try)
{
    (void)snprintf(text, room, "%s.tmp%ld_%d", path, (long)getpid(), try);
}

cgc_status file_write(cgc_ctx *ctx, const char *path, const void *data, size_t bytes)
{
    size_t room = strlen(path) + 48;
    char *temp = arena_alloc(&ctx->arena, room);
    int fd = -1;
    for (int try = 0; fd < 0 && try < MAX_TEMP_TRIES; try++) {
        temp_name(temp, room, path, try);
        fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST)
            return fail(ctx, "write", path, errno);
    }
    if (fd < 0)
        return fail(ctx, "write", path, EEXIST);
    int error = write_all(fd, data, bytes);
    if (!error && rename(temp, path) != 0)
        error = errno;
    if (error) {
        (void)unlink(temp);
        return fail(ctx, "write", path, error);
    }
    return CGC_OK;
}

static bool is_dir(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

cgc_status dir_make(cgc_ctx *ctx, const char *path)
{
    char *part = arena_strdup(&ctx->arena, path);
    for (char *p = part; *p;) {
        p += strspn(p, "/");
        p += strcspn(p, "/");
        char end = *p;
        *p = '\0';
        if (mkdir(part, 0777) != 0) {
            int error = errno;
            if (!is_dir(part))
                return fail(ctx, "make folder", part, error == EEXIST ? ENOTDIR : error);
        }
        *p = end;
    }
    return CGC_OK;
}

/* Removes path and what is in it without following links. The names of a folder are read before
 * any is removed. */
static cgc_status remove_tree(cgc_ctx *ctx, const char *path, int depth);

static cgc_status remove_entries(cgc_ctx *ctx, const char *path, int depth)
{
    /* One entry at a time, the folder opened anew each time: no open handle while the arena may
     * run out. */
    size_t room = strlen(path) + 258;
    for (;;) {
        char *child = arena_alloc(&ctx->arena, room);
        DIR *dir = opendir(path);
        if (!dir)
            return fail(ctx, "open folder", path, errno);
        const struct dirent *e = readdir(dir);
        while (e && (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0))
            e = readdir(dir);
        if (e)
            (void)snprintf(child, room, "%s/%s", path, e->d_name);
        bool more = e != NULL;
        (void)closedir(dir);
        if (!more)
            return CGC_OK;
        TRY(remove_tree(ctx, child, depth + 1));
    }
}

static cgc_status remove_tree(cgc_ctx *ctx, const char *path, int depth)
{
    struct stat st;
    if (lstat(path, &st) != 0)
        return errno == ENOENT ? CGC_OK : fail(ctx, "remove", path, errno);
    if (depth > MAX_TREE_DEPTH)
        return diag(ctx, CGC_E_LIMIT, (diag_info){0}, "cannot remove '%s': folders nest too deep",
                    path);
    if (!S_ISDIR(st.st_mode))
        return unlink(path) == 0 || errno == ENOENT ? CGC_OK : fail(ctx, "remove", path, errno);
    TRY(remove_entries(ctx, path, depth));
    return rmdir(path) == 0 || errno == ENOENT ? CGC_OK : fail(ctx, "remove folder", path, errno);
}

cgc_status dir_remove(cgc_ctx *ctx, const char *path)
{
    return remove_tree(ctx, path, 0);
}

static void close_dir(void *object)
{
    (void)closedir(object);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char **dir_list(arena *a, const char *path, size_t *out_count)
{
    const char **names = NULL;
    size_t n = 0, cap = 0;
    DIR *dir = opendir(path);
    *out_count = 0;
    if (!dir)
        return NULL;
    guard closer;
    guard_push(a->ctx, &closer, close_dir, dir);
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        names = arena_grow(a, (void *)names, &cap, n + 1, sizeof *names);
        names[n++] = arena_strdup(a, e->d_name);
    }
    guard_drop(a->ctx, &closer);
    (void)closedir(dir);
    if (n > 1)
        qsort((void *)names, n, sizeof *names, compare_names);
    *out_count = n;
    return names;
}

/* Removes what processes that no longer run have left: folders "<prefix><pid>_<n>". What cannot be
 * removed stays. */
static void sweep(cgc_ctx *ctx, const char *folder, const char *prefix)
{
    const size_t length = strlen(prefix);
    size_t n;
    const char **names = dir_list(&ctx->arena, folder, &n);
    for (size_t i = 0; i < n; i++) {
        if (strncmp(names[i], prefix, length) != 0)
            continue;
        char *end;
        const long pid = strtol(names[i] + length, &end, 10);
        const bool ours = pid > 0 && pid <= INT_MAX && *end == '_';
        if (!ours || kill((pid_t)pid, 0) == 0 || errno != ESRCH)
            continue;
        const cgc_error before = ctx->error;
        if (dir_remove(ctx, arena_printf(&ctx->arena, "%s/%s", folder, names[i])) != CGC_OK)
            ctx->error = before;
    }
}

cgc_status dir_make_temp(cgc_ctx *ctx, const char *folder, const char *prefix, const char **out)
{
    sweep(ctx, folder, prefix);
    for (int try = 0; try < MAX_TEMP_TRIES; try++) {
        *out = arena_printf(&ctx->arena, "%s/%s%ld_%d", folder, prefix, (long)getpid(), try);
        if (mkdir(*out, 0777) == 0)
            return CGC_OK;
        if (errno != EEXIST)
            break;
    }
    return fail(ctx, "make folder", *out, errno);
}

/* Exchanges two folders in one step, where the system can. */
static bool exchange(const char *a, const char *b)
{
#if defined(__linux__) && defined(SYS_renameat2)
    const unsigned rename_exchange = 2;
    return syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, rename_exchange) == 0;
#else
    (void)a;
    (void)b;
    return false;
#endif
}

cgc_status dir_replace(cgc_ctx *ctx, const char *from, const char *to)
{
    if (exchange(from, to))
        return dir_remove(ctx, from);
    size_t room = strlen(to) + 48;
    char *old = arena_alloc(&ctx->arena, room);
    bool had = false;
    for (int try = 0; try < MAX_TEMP_TRIES && path_exists(to); try++) {
        temp_name(old, room, to, try);
        if (rename(to, old) == 0) {
            had = true;
            break;
        }
        if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR)
            return fail(ctx, "replace", to, errno);
    }
    if (rename(from, to) != 0) {
        int error = errno;
        if (had)
            (void)rename(old, to);
        else if (exchange(from, to)) /* another compile was first */
            return dir_remove(ctx, from);
        return fail(ctx, "rename to", to, error);
    }
    return had ? dir_remove(ctx, old) : CGC_OK;
}
