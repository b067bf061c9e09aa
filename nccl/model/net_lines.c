/**
 * LL between nodes: lines of 8 B data and flags lie in host memory, where a proxy reads every flag of a message before it
 * sends it (net.cc, sendProxyProgress).
 *
 *   P   rate of one channel through its proxy
 *   M   what a message costs a processor beside its bytes, of all its proxies together; R the rate of those
 *   m   bytes of a message: a channel's part of a block, a slot of 32 KiB at most
 *
 *   ring   path (+) occupancy, of which the longer counts unless they are close
 *          path       every hop's latency, m / P at each hop between nodes and m over the link's rate at each hop inside:
 *                     that of one block which nothing is in the way of
 *          occupancy  every step's blocks one after another through what is busiest: a node's processors, its NICs, a GPU's
 *                     link; channels take at least so long, too
 *
 * all_gather of 4 GPUs a node of Perlmutter shows both: messages of 4 KiB cost a node 1.0 us each, from 1 to 8 channels, but
 * nothing while the path is longer (64 nodes: 671, 714, 1,113, 2,083 us at 1 to 8 MiB).
 */
#include "setting.h"

#include <math.h>

/** Bytes of data of LL's slot (NCCL_LL_SLICE). */
static const double slot_bytes = 32768;

/** A channel. */
static double channel_GBps(const struct ronde_nccl_setting *setting)
{
    return ronde_nccl_proxied(setting, NCCL_COMMON(setting, net_channel_ll_GBps));
}

/** Processors whose proxies send. */
static double sockets(const struct ronde_nccl_setting *setting)
{
    return fmax(1, (double)setting->machine->sockets * setting->g / setting->machine->gpus);
}

/** What a node's processors take for messages of so many bytes together, us. */
static double handled_us(const struct ronde_nccl_setting *setting, double messages, double bytes)
{
    return (messages * NCCL_COMMON(setting, net_message_us) +
            bytes / 1e3 / NCCL_COMMON(setting, socket_ll_GBps)) /
           sockets(setting);
}

double ronde_nccl_net_lines_GBps(const struct ronde_nccl_setting *setting)
{
    const double handled = slot_bytes / 1e3 / handled_us(setting, 1, slot_bytes);
    return ronde_nccl_slower(ronde_nccl_nics_GBps(setting) / ronde_nccl_wire[RONDE_NCCL_LL],
                             fmin(handled, setting->channels * channel_GBps(setting)));
}

double ronde_nccl_net_ring_us(const struct ronde_nccl_setting *setting, double hops_us,
                              double steps, double across)
{
    const double block = setting->bytes / setting->call->ranks, channels = setting->channels;
    const double message = fmin(block / channels, slot_bytes);
    const double messages = fmax(channels, block / slot_bytes);
    const double channel = channel_GBps(setting);
    const double path = hops_us + across * message / 1e3 / channel +
                        (steps - across) * (fmin(block, slot_bytes) / 1e3 / setting->inside_GBps -
                                            ronde_nccl_hidden_us(setting, fmin(block, slot_bytes)));
    const double nics = ronde_nccl_nics_GBps(setting) / ronde_nccl_wire[RONDE_NCCL_LL];
    const double occupancy = steps * fmax(handled_us(setting, messages, block),
                                          block / 1e3 / fmin(nics, setting->inside_GBps));
    /* A channel is busy with a block of the path, so it does not come on top. */
    return fmax(steps * block / 1e3 / channels / channel,
                ronde_nccl_overlapped(path, occupancy, NCCL_COMMON(setting, overlap_net_ring_ll)));
}

/* Which messages between GPUs travel in lines. */
