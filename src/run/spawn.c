/* SPDX-License-Identifier: Apache-2.0
 *
 * spawn.c - runs a command and keeps what it prints. No shell is put in between, so no name needs quoting; standard
 * input is empty; the environment is this process's plus what the caller adds.
 */
#include "run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { OUTPUT_MAX_BYTES = 64 << 10 };

static bool same_name(const char *a, const char *b)
{
    size_t n = strcspn(a, "=");
    return strncmp(a, b, n) == 0 && b[n] == '=';
}

/* environ without the names that extra sets, then extra. */
static const char **join_environment(arena *a, const char *const *extra)
{
    size_t n = 0, m = 0;
    while (environ && environ[n])
        n++;
    while (extra[m])
        m++;
    const char **out = arena_array(a, n + m + 1, sizeof *out);
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        bool replaced = false;
        for (size_t k = 0; k < m && !replaced; k++)
            replaced = same_name(extra[k], environ[i]);
        if (!replaced)
            out[count++] = environ[i];
    }
    memcpy(out + count, extra, m * sizeof *out);
    return out;
}

/* Reads until the command closes its end; what exceeds the limit is read and dropped. */
static void drain_pipe(int fd, str *out)
{
    char piece[4096];
    for (;;) {
        ssize_t n = read(fd, piece, sizeof piece);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        size_t room = OUTPUT_MAX_BYTES - out->len;
        str_putn(out, piece, (size_t)n < room ? (size_t)n : room);
    }
}

static int wait_for(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return -1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int start(pid_t *pid, const char *const *argv, const char *const *env, const int ends[2])
{
    posix_spawn_file_actions_t actions;
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed)
        return failed;
    failed = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (!failed)
        failed = posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    if (!failed)
        failed = posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
    if (!failed)
        failed =
            posix_spawnp(pid, argv[0], &actions, NULL, (char *const *)argv, (char *const *)env);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

cgc_status run_spawn(arena *a, const char *const *argv, const char *const *extra,
                     const char **out_text, int *out_exit)
{
    str text;
    str_init(&text, a);
    /* Room for all of it now, so that nothing can jump out while the command runs. */
    text.data = arena_alloc(a, OUTPUT_MAX_BYTES + 1);
    text.cap = OUTPUT_MAX_BYTES + 1;
    const char **env = join_environment(a, extra);
    int ends[2];
    pid_t pid = 0;
    if (pipe(ends) != 0)
        return diag(a->ctx, CGC_E_BUILD, (diag_info){.found = strerror(errno)}, "cannot start '%s'",
                    argv[0]);
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    int failed = start(&pid, argv, env, ends);
    close(ends[1]);
    if (!failed) {
        drain_pipe(ends[0], &text);
        *out_exit = wait_for(pid);
    }
    close(ends[0]);
    if (failed)
        return diag(a->ctx, CGC_E_BUILD, (diag_info){.found = strerror(failed)},
                    "cannot start '%s'", argv[0]);
    *out_text = text.data;
    return CGC_OK;
}
