/**
 * Sockets with deadlines: every call ends by itself, whatever the other side does.
 *
 * Deadlines are points of ronde_clock_ns. All sockets are non-blocking inside and closed on exec.
 */
#ifndef RONDE_HW_BOOTSTRAP_SOCKET_H
#define RONDE_HW_BOOTSTRAP_SOCKET_H

#include "ronde/status.h"

#include <stdbool.h>
#include <stddef.h>

/** Bytes of an address as text, "[::1]:65535" and longer. */
#define RONDE_ADDRESS_BYTES 80

/** Bytes of several addresses as text. */
#define RONDE_ADDRESSES_BYTES 256

/**
 * Listens at a name or address; port 0 lets the system choose one. Host NULL is every address of this machine, and so
 * is a name other than localhost that resolves to the loopback here: many systems resolve their own name to 127.0.1.1,
 * other machines do not. Owner: the caller closes *out_fd. Errors: BAD_ARGUMENT for a name that does not resolve; IO
 * naming address and reason, e.g. a port already taken.
 */
enum ronde_status ronde_socket_listen(const char *host, uint16_t port, int *out_fd,
                                      struct ronde_error *error);

/**
 * Connects, retrying until the deadline: the listener may start later than the ranks that connect. `host` is a name or
 * an address, or several with commas in between, which are tried in turn, as all addresses of a name are. Owner: the
 * caller closes *out_fd. Errors: BAD_ARGUMENT for names that do not resolve; TIMEOUT naming the last reason; DEVICE
 * where the process may open no more files.
 */
enum ronde_status ronde_socket_connect(const char *host, uint16_t port, double deadline_ns,
                                       int *out_fd, struct ronde_error *error);

/** Accepts a waiting connection; -1 with errno if there is none (any more), or no descriptor for it. */
int ronde_socket_accept(int listener);

/** Sends all bytes. OK; TIMEOUT; IO when the peer has closed. */
enum ronde_status ronde_socket_send(int fd, const void *data, size_t bytes, double deadline_ns);

/** Receives exactly so many bytes. OK; TIMEOUT; IO when the peer closes before. */
enum ronde_status ronde_socket_receive(int fd, void *data, size_t bytes, double deadline_ns);

/** Milliseconds until a deadline for poll(): 0 if it is over, never more than `most`. */
int ronde_socket_left_ms(double deadline_ns, int most);

/**
 * Before a wait for other ranks, between frames: runs the wait hook (ronde/attach.h), which may read frames itself. The
 * milliseconds to wait, at most so many.
 */
int ronde_socket_wait_ms(int most);

/** The port a socket is bound to; 0 if it is none. */
uint16_t ronde_socket_port(int fd);

/** Writes the host part of the own or the peer's address, without port. */
void ronde_socket_host(int fd, bool is_peer, char text[RONDE_ADDRESS_BYTES]);

/** Whether an address that ronde_socket_host has written is the loopback. */
bool ronde_socket_is_loopback(const char *host);

/** Writes under what other machines may reach this one: its name, and its addresses, with commas in between. */
void ronde_socket_own_hosts(char text[RONDE_ADDRESSES_BYTES]);

#endif
