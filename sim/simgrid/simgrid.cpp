/*
 * SimGrid as a replay engine: no actors and no mailboxes. Our own dependency counters run on the maestro; a
 * communication object exists only while bytes flow, and everything else (alpha, delays, cores) is a kernel timer.
 *
 * Network model CM02 without cross traffic and TCP gamma is pure max-min sharing of capacities. Link latencies are
 * zeroed and charged as timers, because SimGrid lets them bias the sharing (two flows 1 us and 3 us away end 66 ms
 * apart where fair sharing ends them together) and because LogGP pays latency after the last byte has left, not before
 * the first. SimGrid's model: Velho, Schnorr, Casanova, Legrand, "On the validity of flow-level TCP network models for
 * grid and cloud simulations", ACM TOMACS 23(4), 2013.
 */
#include "shim.h"

#include <simgrid/Exception.hpp>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u/Comm.hpp>
#include <simgrid/s4u/Engine.hpp>
#include <simgrid/s4u/Host.hpp>
#include <simgrid/s4u/Link.hpp>
#include <simgrid/s4u/NetZone.hpp>
#include <simgrid/version.h>
#include <xbt/log.h>

#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <queue>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace sg = simgrid::s4u;

namespace
{

/* An error of ours, with the status it is reported as. */
struct Failure {
    enum ronde_status status;
    std::string message;
};

constexpr double ns = 1e-9;
constexpr double GBps = 1e9;

/* A pair of ranks that exchange messages. */
struct Path {
    std::vector<sg::Link *> links;
    double latency_ns = 0;
    double bytes = 0; /* carried, for utilisation */
};

/* Successors of an operation, as the graph stores predecessors. */
struct Successor {
    uint32_t op;
    bool is_message;
};

/* Caps one flow. SimGrid has the setter in its library, but the public Comm refuses it for host-to-host flows. */
using CapFlow = void *(*)(void *comm, double bytes_per_s);

class Replay
{
  public:
    explicit Replay(const ronde_shim_job &job) : job_(job), dag_(*job.dag)
    {
    }
    void load();
    void run(ronde_shim_outcome &outcome);
    void report(ronde_shim_outcome &outcome) const;

  private:
    void configure(sg::Engine &engine) const;
    void find_hosts(const sg::Engine &engine);
    void check_links(const sg::Engine &engine);
    void change_links() const;
    void find_paths();
    void lift_ports(const sg::Engine &engine) const;
    void invert_edges();
    uint32_t path_between(uint32_t src, uint32_t dst);
    double alpha_ns(uint32_t op) const;

    void ready(uint32_t op);
    void begin(uint32_t op);
    void flow(uint32_t op);
    void ask_for_core(uint32_t op);
    void grant_cores();
    void compute(uint32_t op);
    void touch_memory(uint32_t op);
    void transfer(uint32_t op, sg::Host *from, sg::Host *to, double bytes, double cap);
    void on_comm(const sg::Activity &activity);
    void finish(uint32_t op);
    void finish_one(uint32_t op);
    using Step = void (Replay::*)(uint32_t);
    void at(double time_ns, Step then, uint32_t op);
    void come(double date);

    const ronde_shim_job &job_;
    const ronde_dag &dag_;
    sg::Engine *engine_ = nullptr;
    CapFlow cap_flow_ = nullptr;
    std::vector<sg::Host *> hosts_; /* per rank */
    std::vector<Path> paths_;
    std::unordered_map<uint64_t, uint32_t> path_index_;
    std::vector<uint32_t> path_of_; /* per operation */
    std::vector<uint32_t> first_successor_;
    std::vector<Successor> successors_;
    std::vector<uint32_t> missing_; /* unsatisfied edges per operation */
    std::vector<double> ready_ns_;  /* when the last satisfied edge lets it start */
    std::vector<sg::CommPtr> live_; /* flows by slot: the only owners */
    std::vector<uint32_t> op_of_slot_;
    std::vector<uint32_t> free_slots_;
    sg::CommPtr last_; /* SimGrid touches a communication after its own callback */
    std::map<double, std::vector<std::pair<Step, uint32_t>>> agenda_; /* by date, in seconds */
    std::vector<uint32_t> finished_;
    bool is_draining_ = false;
    using Waiting = std::pair<double, uint32_t>;
    std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> core_queue_;
    uint32_t free_cores_ = 0;
    uint64_t done_ = 0;
    uint64_t *told_ = nullptr; /* done_, where the parent reads it */
    double end_ns_ = 0;
    static Replay *current_;
};

Replay *Replay::current_ = nullptr;

/* SimGrid's clock is in seconds. */
double now_ns()
{
    return sg::Engine::get_clock() / ns;
}

/* Our flags first, the user's after them: the user's take precedence. */
void Replay::configure(sg::Engine &engine) const
{
    xbt_log_control_set("xbt_cfg.thresh:warning");
    if (job_.is_tcp) {
        /* What else it was calibrated with is SimGrid's default. */
        engine.set_config("network/model:LV08");
    } else {
        engine.set_config("network/model:CM02");
        engine.set_config("network/crosstraffic:0");
        engine.set_config("network/TCP-gamma:1e30");
    }
    /* The default, 1e-9 s, ends flows together that end within a nanosecond. */
#if SIMGRID_VERSION >= 33400
    engine.set_config("precision/timing:1e-15");
#else
    engine.set_config("surf/precision:1e-15");
#endif
    for (const char *const *flag = job_.cfg; flag != nullptr && *flag != nullptr; flag++)
        engine.set_config(std::string(*flag));
}

/* SimGrid knows hosts by name; a platform that ronde has read cannot lack one, a changed file can. */
void Replay::find_hosts(const sg::Engine &engine)
{
    for (uint32_t rank = 0; rank < dag_.ranks; rank++) {
        sg::Host *host = engine.host_by_name_or_null(job_.hosts[rank]);
        if (host == nullptr)
            throw Failure{RONDE_BAD_INPUT, std::string("unknown host '") + job_.hosts[rank] + "'"};
        hosts_.push_back(host);
    }
}

/* Zero bandwidth passes SimGrid's parser and aborts at the first flow. */
void Replay::check_links(const sg::Engine &engine)
{
    for (const sg::Link *link : engine.get_all_links())
        if (!(link->get_bandwidth() > 0))
            throw Failure{RONDE_BAD_INPUT,
                          std::string("link '") + link->get_cname() + "' has no bandwidth"};
}

/* Rates that the caller changed after reading the file. */
void Replay::change_links() const
{
    for (uint32_t i = 0; i < job_.changed_count; i++) {
        const ronde_shim_link &changed = job_.changed[i];
        sg::Link *link = sg::Link::by_name_or_null(changed.name);
        if (link == nullptr)
            throw Failure{RONDE_BAD_INPUT, std::string("unknown link '") + changed.name + "'"};
        link->set_bandwidth(changed.rate_GBps * GBps);
    }
}

/* The route of a pair, looked up once; one without a route would abort SimGrid later. */
uint32_t Replay::path_between(uint32_t src, uint32_t dst)
{
    const uint64_t key = (static_cast<uint64_t>(src) << 32) | dst;
    const auto found = path_index_.find(key);
    if (found != path_index_.end())
        return found->second;
    Path path;
    double latency = 0;
    if (hosts_[src] != hosts_[dst]) {
        try {
            hosts_[src]->route_to(hosts_[dst], path.links, &latency);
        } catch (const std::exception &) {
            path.links.clear();
        }
        if (path.links.empty())
            throw Failure{RONDE_BAD_INPUT, "no route from " + hosts_[src]->get_name() + " to " +
                                               hosts_[dst]->get_name()};
    }
    path.latency_ns = latency / ns;
    const auto index = static_cast<uint32_t>(paths_.size());
    paths_.push_back(path);
    path_index_.emplace(key, index);
    return index;
}

/* Before the first event, so that a missing route is an error and not an abort half way. */
void Replay::find_paths()
{
    path_of_.resize(dag_.op_count);
    for (uint32_t i = 0; i < dag_.op_count; i++) {
        const ronde_dag_op &op = dag_.ops[i];
        path_of_[i] = path_between(op.src, op.dst);
        if (!job_.is_shared)
            paths_[path_of_[i]].bytes += static_cast<double>(op.bytes);
    }
}

/* On a shared host only the memory limits: it must be the one link of its flows that can fill up. */
void Replay::lift_ports(const sg::Engine &engine) const
{
    constexpr double unlimited = 1e18;
    for (sg::Link *link : engine.get_all_links())
        if (link->get_name() != job_.memory_link)
            link->set_bandwidth(unlimited);
}

/* The graph lists predecessors; the replay needs successors. Counting sort, linear. */
void Replay::invert_edges()
{
    first_successor_.assign(static_cast<size_t>(dag_.op_count) + 1, 0);
    successors_.resize(dag_.edge_count);
    missing_.resize(dag_.op_count);
    ready_ns_.resize(dag_.op_count);
    for (uint32_t i = 0; i < dag_.edge_count; i++)
        first_successor_[dag_.edges[i].op + 1]++;
    for (uint32_t i = 0; i < dag_.op_count; i++)
        first_successor_[i + 1] += first_successor_[i];
    std::vector<uint32_t> next(first_successor_.begin(), first_successor_.end() - 1);
    for (uint32_t i = 0; i < dag_.op_count; i++) {
        const ronde_dag_op &op = dag_.ops[i];
        missing_[i] = op.edge_count;
        ready_ns_[i] = job_.release_ns != nullptr ? job_.release_ns[op.src] : 0;
        for (uint32_t k = 0; k < op.edge_count; k++) {
            const ronde_dag_edge &edge = dag_.edges[op.first_edge + k];
            successors_[next[edge.op]++] = Successor{i, edge.is_message};
        }
    }
}

/* Flags before the platform, the platform sealed before routes are looked up, latencies read before they are zeroed. */
void Replay::load()
{
    static int argc = 1;
    static char name[] = "ronde";
    static char *argv[] = {name, nullptr};
    static char **argv_cursor = argv;
    /* Never destroyed: the process leaves by _exit, and SimGrid's teardown is the slowest part of a short run. */
    engine_ = new sg::Engine(&argc, argv_cursor);
    configure(*engine_);
    engine_->load_platform(job_.platform_path);
    engine_->seal_platform();
    find_hosts(*engine_);
    check_links(*engine_);
    change_links();
    find_paths();
    if (!job_.native_latency)
        for (sg::Link *link : engine_->get_all_links())
            link->set_latency(0);
    if (job_.is_shared && job_.memory_link != nullptr)
        lift_ports(*engine_);
    cap_flow_ = reinterpret_cast<CapFlow>(
        dlsym(RTLD_DEFAULT, "_ZN7simgrid6kernel8activity8CommImpl8set_rateEd"));
    if (cap_flow_ == nullptr && (dag_.lane_GBps > 0 || job_.is_shared))
        throw Failure{RONDE_UNSUPPORTED, "this SimGrid cannot cap a flow (lane_GBps, memory_GBps)"};
    invert_edges();
    free_cores_ = job_.cores > 0 ? job_.cores : dag_.ranks;
}

/* What a message takes after its last byte has left. */
double Replay::alpha_ns(uint32_t op) const
{
    const ronde_dag_op &self = dag_.ops[op];
    const bool flows = self.bytes > 0 && hosts_[self.src] != hosts_[self.dst];
    const bool is_paid = job_.native_latency && flows && !job_.is_shared;
    return dag_.alpha_ns + (is_paid ? 0 : paths_[path_of_[op]].latency_ns);
}

/*
 * Calls a step of an operation at a time; at once when that is now. Ranks that go in step have their messages come at
 * the same date: they share one timer, whose way through SimGrid's heap costs as much as a tenth of a message.
 */
void Replay::at(double time_ns, Step then, uint32_t op)
{
    if (time_ns <= now_ns()) {
        (this->*then)(op);
        return;
    }
    const double date = time_ns * ns;
    const auto [due, is_new] = agenda_.try_emplace(date);
    due->second.emplace_back(then, op);
    if (is_new)
        simgrid::kernel::timer::Timer::set(date, [this, date] { come(date); });
}

/* All that is due at a date; what these steps set for the same date is a timer of its own. */
void Replay::come(double date)
{
    const auto due = agenda_.extract(date);
    for (const auto &[then, op] : due.mapped())
        (this->*then)(op);
}

/* All predecessors are over and their messages have arrived (or will at ready_ns). */
void Replay::ready(uint32_t op)
{
    const ronde_dag_op &self = dag_.ops[op];
    if (job_.start_ns != nullptr)
        job_.start_ns[op] = ready_ns_[op];
    if (!job_.is_shared) {
        at(ready_ns_[op] + self.delay_ns, &Replay::flow, op);
        return;
    }
    /* Of a step that takes longer than its core time the rest (waiting for a cache line, say) needs no core. */
    const double step = self.delay_ns - self.stage_ns;
    const double core = job_.core_step_ns > 0 ? job_.core_step_ns : step;
    ready_ns_[op] += step > core ? step - core : 0;
    at(ready_ns_[op], &Replay::ask_for_core, op);
}

/* SimGrid aborts on a message from a host to itself and never starts an empty one: neither becomes a flow. */
void Replay::flow(uint32_t op)
{
    const ronde_dag_op &self = dag_.ops[op];
    sg::Host *from = hosts_[self.src];
    sg::Host *to = hosts_[self.dst];
    if (self.bytes == 0 || from == to)
        finish(op);
    else
        transfer(op, from, to, static_cast<double>(self.bytes), dag_.lane_GBps * GBps);
}

/* First come, first served; ties by the number of the operation. */
void Replay::ask_for_core(uint32_t op)
{
    core_queue_.emplace(ready_ns_[op], op);
    grant_cores();
}

/* A core is held from here until the operation is over. */
void Replay::grant_cores()
{
    while (free_cores_ > 0 && !core_queue_.empty()) {
        const uint32_t op = core_queue_.top().second;
        core_queue_.pop();
        free_cores_--;
        const ronde_dag_op &self = dag_.ops[op];
        const double step = self.delay_ns - self.stage_ns;
        at(now_ns() + (job_.core_step_ns > 0 ? job_.core_step_ns : step), &Replay::compute, op);
    }
}

/* The step's own work is done; what remains is moving its bytes, as fast as alone or as the memory allows. */
void Replay::compute(uint32_t op)
{
    const ronde_dag_op &self = dag_.ops[op];
    if (self.touched_bytes > 0 && job_.memory_link != nullptr)
        touch_memory(op);
    else
        at(now_ns() + self.stage_ns, &Replay::finish, op);
}

/* All memory traffic takes one route, of which the memory is the only link with a limit. A core without one is as fast. */
void Replay::touch_memory(uint32_t op)
{
    const ronde_dag_op &self = dag_.ops[op];
    const auto bytes = static_cast<double>(self.touched_bytes);
    const double cap = self.stage_ns > 0 ? bytes / (self.stage_ns * ns) : 0;
    transfer(op, hosts_.front(), hosts_.back(), bytes, cap);
}

/* The slot owns the communication and is its user data, so that its end is handled without a search. */
void Replay::transfer(uint32_t op, sg::Host *from, sg::Host *to, double bytes, double cap)
{
    if (free_slots_.empty()) {
        free_slots_.push_back(static_cast<uint32_t>(live_.size()));
        live_.emplace_back();
        op_of_slot_.push_back(0);
    }
    const uint32_t slot = free_slots_.back();
    free_slots_.pop_back();
    op_of_slot_[slot] = op;
    sg::CommPtr comm = sg::Comm::sendto_init(from, to);
    comm->set_payload_size(static_cast<uint64_t>(bytes));
    if (cap > 0)
        cap_flow_(comm->get_impl(), cap);
    comm->set_data(reinterpret_cast<void *>(static_cast<uintptr_t>(slot) + 1));
    live_[slot] = comm;
    comm->start();
}

/* The communication must outlive this callback: SimGrid touches it afterwards. */
void Replay::on_comm(const sg::Activity &activity)
{
    const uintptr_t slot = reinterpret_cast<uintptr_t>(activity.get_data<void>()) - 1;
    last_ = live_[slot];
    live_[slot] = nullptr;
    free_slots_.push_back(static_cast<uint32_t>(slot));
    finish(op_of_slot_[slot]);
}

/* Successors start when their last predecessor is over; the core goes to the next in the queue after that. */
void Replay::finish_one(uint32_t op)
{
    const double end = now_ns();
    done_++;
    __atomic_store_n(told_, done_, __ATOMIC_RELAXED);
    end_ns_ = std::max(end_ns_, end);
    if (job_.finish_ns != nullptr)
        job_.finish_ns[op] = end;
    for (uint32_t i = first_successor_[op]; i < first_successor_[op + 1]; i++) {
        const Successor next = successors_[i];
        const double from = end + (next.is_message ? alpha_ns(op) : 0);
        ready_ns_[next.op] = std::max(ready_ns_[next.op], from);
        if (--missing_[next.op] == 0)
            ready(next.op);
    }
    if (job_.is_shared) {
        free_cores_++;
        grant_cores();
    }
}

/* Iterative: a chain of operations that take no time would otherwise be a recursion as deep as the chain. */
void Replay::finish(uint32_t op)
{
    finished_.push_back(op);
    if (is_draining_)
        return;
    is_draining_ = true;
    while (!finished_.empty()) {
        const uint32_t next = finished_.back();
        finished_.pop_back();
        finish_one(next);
    }
    is_draining_ = false;
}

/* run() returns when neither timer nor flow is left, also if something never started: hence the count. */
void Replay::run(ronde_shim_outcome &outcome)
{
    told_ = &outcome.done;
    current_ = this;
    sg::Comm::on_completion_cb([](const sg::Activity &activity) { current_->on_comm(activity); });
    for (uint32_t i = 0; i < dag_.op_count; i++)
        if (dag_.ops[i].edge_count == 0)
            ready(i);
    engine_->run();
    if (done_ != dag_.op_count)
        throw Failure{RONDE_DEVICE, "only " + std::to_string(done_) + " of " +
                                        std::to_string(dag_.op_count) + " operations ended"};
}

/* The link that was busy for the largest part of the run. */
void Replay::report(ronde_shim_outcome &outcome) const
{
    std::unordered_map<sg::Link *, double> bytes;
    for (const Path &path : paths_)
        for (sg::Link *link : path.links)
            bytes[link] += path.bytes;
    sg::Link *memory = job_.memory_link ? sg::Link::by_name_or_null(job_.memory_link) : nullptr;
    for (uint32_t i = 0; memory != nullptr && i < dag_.op_count; i++)
        if (dag_.ops[i].stage_ns > 0)
            bytes[memory] += static_cast<double>(dag_.ops[i].touched_bytes);
    outcome.time_ns = end_ns_;
    for (const auto &[link, carried] : bytes) {
        /* A fat pipe gives every flow its rate: it is never full. */
        if (link->get_sharing_policy() == sg::Link::SharingPolicy::FATPIPE)
            continue;
        const double use = end_ns_ > 0 ? carried / (link->get_bandwidth() * end_ns_ * ns) : 0;
        const bool wins_tie =
            use == outcome.busiest_utilisation && link->get_name() < outcome.busiest_link;
        if (use <= outcome.busiest_utilisation && !(use > 0 && wins_tie))
            continue;
        outcome.busiest_utilisation = use;
        std::snprintf(outcome.busiest_link, sizeof outcome.busiest_link, "%s", link->get_cname());
    }
}

/* Into the shared outcome, cut to one line. */
void fail(ronde_shim_outcome &outcome, enum ronde_status status, const char *text)
{
    outcome.status = status;
    std::snprintf(outcome.message, sizeof outcome.message, "%s", text);
    /* SimGrid's message on an unknown flag then lists every flag there is. */
    outcome.message[std::strcspn(outcome.message, "\r\n")] = '\0';
}

} // namespace

extern "C" void ronde_shim_run(const ronde_shim_job *job, ronde_shim_outcome *outcome)
{
    try {
        Replay replay(*job);
        replay.load();
        replay.run(*outcome);
        replay.report(*outcome);
        outcome->status = RONDE_OK;
    } catch (const Failure &failure) {
        fail(*outcome, failure.status, failure.message.c_str());
    } catch (const std::bad_alloc &) {
        fail(*outcome, RONDE_NO_MEMORY, "no memory for the replay");
    } catch (const std::exception &exception) {
        fail(*outcome, RONDE_BAD_INPUT, exception.what());
    } catch (...) {
        fail(*outcome, RONDE_DEVICE, "SimGrid threw something unknown");
    }
    outcome->is_done = true;
}

extern "C" const char *ronde_shim_version()
{
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
    return "SimGrid " TEXT(SIMGRID_VERSION_MAJOR) "." TEXT(SIMGRID_VERSION_MINOR);
#undef TEXT
#undef TEXT_OF
}
