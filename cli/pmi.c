/*
 * MPICH's launcher tells a process its rank in the environment, but the name of the job only when asked: a line over the
 * socket PMI_FD, in the text form of the process manager interface, version 1 (Balaji et al., EuroMPI 2010). Having asked,
 * a process must say that it is done, or its end counts as a crash and ends the others.
 */
#include "team.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* A launcher of this machine answers at once, or is none. */
#define ANSWER_MS 2000

/* Asks for one line; false unless the answer begins as expected. */
static bool ask(int fd, const char *question, const char *expected, char *answer, size_t bytes)
{
    struct pollfd one = {fd, POLLIN, 0};
    const size_t length = strlen(question);
    /* What is no socket refuses. */
    if (send(fd, question, length, MSG_NOSIGNAL) != (ssize_t)length || poll(&one, 1, ANSWER_MS) != 1)
        return false;
    const ssize_t got = recv(fd, answer, bytes - 1, 0);
    if (got <= 0)
        return false;
    answer[got] = '\0';
    return strncmp(answer, expected, strlen(expected)) == 0;
}

bool ronde_pmi_job(char *token, size_t bytes)
{
    char answer[256];
    const char *text = getenv("PMI_FD");
    const int fd = text ? atoi(text) : -1;
    if (fd <= 2 || !ask(fd, "cmd=get_my_kvsname\n", "cmd=my_kvsname", answer, sizeof answer))
        return false;
    const char *name = strstr(answer, " kvsname=");
    if (name) {
        name += strlen(" kvsname=");
        snprintf(token, bytes, "%.*s", (int)strcspn(name, " \n"), name);
    }
    return ask(fd, "cmd=finalize\n", "cmd=finalize_ack", answer, sizeof answer) && name;
}
