/*
 * A switch in one process, for a virtual cluster with a delay: eth0 of every host is a TAP device that this program has
 * open. Usage: tapswitch PREFIX HOSTS RATE DELAY, e.g. tapswitch ronde-tap- 4 200mbit 500us; namespaces and devices
 * exist (tests/rig/up). Ends with SIGTERM, or when its last host is gone.
 *
 * A frame holds its sender's port for bytes / rate, travels for DELAY, then waits for its turn at the receiver's port,
 * which it holds for bytes / rate as well, cut-through: where that port is idle its end leaves as it arrives. Turns go by
 * when frames begin to arrive. By when they end a short frame of a third host would slip in front of a long one that is
 * half here, and hold it up for as long as the long one takes: 700 us for an acknowledgement, at 100 Mbit/s.
 * Times follow from times, never from when this process ran, so a late wake-up delays a frame at most by itself and
 * never slows a port down.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define MAX_HOSTS 16u
#define FRAME_BYTES 9216u
#define FRAMES 16384u

/*
 * A port gets frames ahead of their time by no more than this, so that what waits does so in the sender's own queue,
 * and late wake-ups up to this long leave no gap.
 */
#define AHEAD_NS 1000000

struct frame {
    int64_t due_ns; /* when it begins to arrive at the receiver's port, then when its end leaves it */
    uint32_t to;
    size_t bytes;
    unsigned char data[FRAME_BYTES];
};

/* Frames in order of time. */
struct line {
    struct frame **frames; /* FRAMES entries, a ring */
    uint32_t head, tail;   /* ever taken, ever added */
};

struct port {
    int fd;
    bool is_gone;
    int64_t up_ns;     /* until when it is busy with what its host sent */
    int64_t down_ns;   /* the same with what its host is sent */
    struct line air;   /* from this host, not yet at the receiver's port */
    struct line queue; /* for this host */
};

struct tap_switch {
    uint32_t hosts;
    double ns_per_byte;
    int64_t delay_ns;
    struct port ports[MAX_HOSTS];
    struct frame *frames;
    struct line spare;
};

static int64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static struct frame *first(const struct line *line)
{
    return line->head == line->tail ? NULL : line->frames[line->head % FRAMES];
}

static void add(struct line *line, struct frame *frame)
{
    line->frames[line->tail++ % FRAMES] = frame;
}

static struct frame *take(struct line *line)
{
    return line->frames[line->head++ % FRAMES];
}

/* How long a frame holds a port. */
static int64_t holds_ns(const struct tap_switch *all, const struct frame *frame)
{
    return (int64_t)((double)frame->bytes * all->ns_per_byte);
}

/* Takes what a host has sent, as far as its port is not ahead of time; true if there was anything. */
static bool read_port(struct tap_switch *all, struct port *port)
{
    bool has_read = false;
    for (int64_t now = now_ns(); !port->is_gone && port->up_ns <= now + AHEAD_NS;) {
        struct frame *frame = first(&all->spare);
        if (!frame)
            break;
        const ssize_t bytes = read(port->fd, frame->data, sizeof frame->data);
        if (bytes < 14) {
            port->is_gone = bytes < 0 && errno != EAGAIN && errno != EINTR;
            break;
        }
        has_read = true;
        /* Hosts are identified by the last byte of their address; broadcast frames are dropped. */
        frame->to = frame->data[5] - 1u;
        if ((frame->data[0] & 1) != 0 || frame->to >= all->hosts)
            continue;
        frame->bytes = (size_t)bytes;
        const int64_t begin_ns = port->up_ns > now ? port->up_ns : now;
        port->up_ns = begin_ns + holds_ns(all, frame);
        frame->due_ns = begin_ns + all->delay_ns;
        add(&port->air, take(&all->spare));
    }
    return has_read;
}

/* The host whose frame is the next to arrive anywhere; NULL if none is on its way. */
static struct port *next_arrival(struct tap_switch *all)
{
    struct port *next = NULL;
    for (uint32_t host = 0; host < all->hosts; host++) {
        struct port *port = &all->ports[host];
        if (first(&port->air) && (!next || first(&port->air)->due_ns < first(&next->air)->due_ns))
            next = port;
    }
    return next;
}

/*
 * Lets frames arrive at their receivers' ports, in the order of time. What hosts have yet to send arrives later than this
 * program's delay from now: up to there the order is known.
 */
static void land(struct tap_switch *all, int64_t now)
{
    for (struct port *from = next_arrival(all);
         from && first(&from->air)->due_ns <= now + all->delay_ns; from = next_arrival(all)) {
        struct frame *frame = take(&from->air);
        struct port *to = &all->ports[frame->to];
        const int64_t begin_ns = frame->due_ns > to->down_ns ? frame->due_ns : to->down_ns;
        frame->due_ns = to->down_ns = begin_ns + holds_ns(all, frame);
        add(&to->queue, frame);
    }
}

/* Delivers what has left a port. */
static void deliver(struct tap_switch *all, struct port *port, int64_t now)
{
    for (struct frame *frame = first(&port->queue); frame && frame->due_ns <= now;
         frame = first(&port->queue)) {
        const ssize_t written = write(port->fd, frame->data, frame->bytes);
        if (written < 0 && errno == EAGAIN)
            break;
        add(&all->spare, take(&port->queue));
    }
}

/* When something is to be done next, if no host sends anything. */
static int64_t next_ns(struct tap_switch *all)
{
    const struct port *arriving = next_arrival(all);
    int64_t next = arriving ? first(&arriving->air)->due_ns : INT64_MAX;
    for (uint32_t host = 0; host < all->hosts; host++) {
        const struct frame *frame = first(&all->ports[host].queue);
        if (frame && frame->due_ns < next)
            next = frame->due_ns;
    }
    return next;
}

/* Sleeps until a host sends, or something is due. Ports that are ahead of time are not polled. */
static void rest(struct tap_switch *all)
{
    struct pollfd polls[MAX_HOSTS];
    nfds_t count = 0;
    int64_t next = next_ns(all);
    const int64_t now = now_ns();
    for (uint32_t host = 0; host < all->hosts; host++) {
        const struct port *port = &all->ports[host];
        const int64_t open_ns = port->up_ns - AHEAD_NS / 2;
        if (port->is_gone)
            continue;
        if (open_ns <= now)
            polls[count++] = (struct pollfd){port->fd, POLLIN, 0};
        else if (open_ns < next)
            next = open_ns;
    }
    const int64_t wait = next <= now ? 0 : next - now;
    const struct timespec time = {wait / 1000000000, wait % 1000000000};
    (void)ppoll(polls, count, next == INT64_MAX ? NULL : &time, NULL);
}

static bool is_empty(const struct tap_switch *all)
{
    for (uint32_t host = 0; host < all->hosts; host++)
        if (!all->ports[host].is_gone)
            return false;
    return true;
}

static void serve(struct tap_switch *all)
{
    while (!is_empty(all)) {
        bool has_read = false;
        for (uint32_t host = 0; host < all->hosts; host++)
            has_read |= read_port(all, &all->ports[host]);
        const int64_t now = now_ns();
        land(all, now);
        for (uint32_t host = 0; host < all->hosts; host++)
            deliver(all, &all->ports[host], now);
        if (!has_read)
            rest(all);
    }
}

/* Takes hold of eth0 of a host, from within its namespace. */
static bool open_port(const char *prefix, uint32_t host, struct port *port)
{
    char path[128];
    struct ifreq request;
    (void)snprintf(path, sizeof path, "/run/netns/%s%u", prefix, host);
    const int space = open(path, O_RDONLY | O_CLOEXEC);
    if (space < 0 || setns(space, CLONE_NEWNET) != 0) {
        perror(path);
        return false;
    }
    close(space);
    memset(&request, 0, sizeof request);
    (void)snprintf(request.ifr_name, sizeof request.ifr_name, "eth0");
    request.ifr_flags = IFF_TAP | IFF_NO_PI;
    port->fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (port->fd >= 0 && ioctl(port->fd, TUNSETIFF, &request) == 0)
        return true;
    perror("/dev/net/tun");
    return false;
}

static bool make_line(struct line *line)
{
    line->frames = calloc(FRAMES, sizeof *line->frames);
    return line->frames != NULL;
}

static bool make_switch(struct tap_switch *all, const char *prefix)
{
    all->frames = calloc(FRAMES, sizeof *all->frames);
    bool is_made = all->frames && make_line(&all->spare);
    for (uint32_t i = 0; is_made && i < FRAMES; i++)
        add(&all->spare, &all->frames[i]);
    for (uint32_t host = 0; is_made && host < all->hosts; host++)
        is_made = make_line(&all->ports[host].air) && make_line(&all->ports[host].queue) &&
                  open_port(prefix, host, &all->ports[host]);
    return is_made;
}

/* A number with a unit that must be this one; 0 where it is not. */
static double number(const char *text, const char *unit)
{
    char *end = NULL;
    const double value = strtod(text, &end);
    return end != text && strcmp(end, unit) == 0 ? value : 0.0;
}

int main(int argc, char **argv)
{
    static struct tap_switch all;
    if (argc == 5) {
        const double rate_mbit = number(argv[3], "mbit");
        all.hosts = (uint32_t)strtoul(argv[2], NULL, 10);
        all.ns_per_byte = rate_mbit > 0 ? 8000.0 / rate_mbit : 0.0;
        all.delay_ns = (int64_t)(1000.0 * number(argv[4], "us"));
    }
    if (all.hosts < 2 || all.hosts > MAX_HOSTS || all.ns_per_byte <= 0.0) {
        fprintf(stderr, "usage: tapswitch PREFIX HOSTS RATEmbit DELAYus\n");
        return 2;
    }
    (void)prctl(PR_SET_TIMERSLACK, 1UL);
    if (!make_switch(&all, argv[1]))
        return 1;
    serve(&all);
    return 0;
}
