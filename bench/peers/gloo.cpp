/* The contender that is Gloo, over its only transport for processes of one machine: TCP on the loopback. */
#include "contender.h"

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>

namespace
{

using Context = std::shared_ptr<gloo::rendezvous::Context>;

/* Sums or maxima of all ranks, in the form Gloo's newer functions take. */
template <typename T>
void all_reduce(const Context &context, T *in, T *out, size_t count,
                void (*function)(void *, const void *, const void *, size_t))
{
    gloo::AllreduceOptions options(context);
    options.setInput(in, count);
    options.setOutput(out, count);
    options.setReduceFunction(function);
    gloo::allreduce(options);
}

void broadcast(const Context &context, float *data, size_t count)
{
    gloo::BroadcastOptions options(context);
    options.setOutput(data, count);
    options.setRoot(0);
    gloo::broadcast(options);
}

void all_gather(const Context &context, float *in, float *out, size_t count)
{
    gloo::AllgatherOptions options(context);
    options.setInput(in, count);
    options.setOutput(out, count * static_cast<size_t>(context->size));
    gloo::allgather(options);
}

const char *prepare(void *, const struct contender_point *)
{
    return "default default";
}

bool run(void *self, const struct contender_point *point)
{
    const Context &context = *static_cast<Context *>(self);
    float *in = static_cast<float *>(point->in[context->rank]);
    float *out = static_cast<float *>(point->out[context->rank]);
    try {
        if (point->collective == CONTENDER_ALL_REDUCE)
            all_reduce(context, in, out, point->count, gloo::sum<float>);
        else if (point->collective == CONTENDER_BROADCAST)
            broadcast(context, out, point->count);
        else
            all_gather(context, in, out, point->count);
    } catch (const std::exception &exception) {
        std::fprintf(stderr, "gloo: %s\n", exception.what());
        return false;
    }
    return true;
}

double max(void *self, double value)
{
    const Context &context = *static_cast<Context *>(self);
    double largest = value;
    try {
        all_reduce(context, &value, &largest, 1, gloo::max<double>);
    } catch (const std::exception &exception) {
        std::fprintf(stderr, "gloo: %s\n", exception.what());
    }
    return largest;
}

/* No rank has the sum before all have called; it is quicker than Gloo's barrier. */
bool meet(void *self)
{
    max(self, 0.0);
    return true;
}

/*
 * Ranks rendezvous through files of the folder. They are not bound to processors, as the others
 * are: Gloo's thread for the network would be bound to the same one, and that makes it up to five
 * times slower.
 */
Context join(int rank, int ranks, const std::string &folder)
{
    gloo::transport::tcp::attr attributes;
    attributes.hostname = "localhost";
    auto device = gloo::transport::tcp::CreateDevice(attributes);
    gloo::rendezvous::FileStore store(folder);
    auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
    context->connectFullMesh(store, device);
    return context;
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 4) {
        std::fprintf(stderr, "usage: %s FOLDER RANK RANKS\n", argv[0]);
        return 2;
    }
    const int rank = std::atoi(argv[2]), ranks = std::atoi(argv[3]);
    try {
        Context context = join(rank, ranks, argv[1]);
        struct contender contender = {};
        contender.rank = rank;
        contender.ranks = ranks;
        contender.self = &context;
        contender.prepare = prepare;
        contender.run = run;
        contender.max = max;
        contender.meet = meet;
        return contender_serve(&contender, argv[1]);
    } catch (const std::exception &exception) {
        std::fprintf(stderr, "gloo: %s\n", exception.what());
        return 4;
    }
}
