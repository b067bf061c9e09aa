/* An MSCCL file in memory: its operations and protocols, where its parts lie. See algo.h. */
#include "algo.h"

const struct msccl_op_row msccl_ops[MSCCL_OP_COUNT] = {
#define MSCCL_ROW(name, word, ours, receives, reads, writes, sends)                                \
    {word, ours, receives, reads, writes, sends},
    MSCCL_OP_LIST(MSCCL_ROW)
#undef MSCCL_ROW
};

const struct msccl_protocol_row msccl_protocols[RONDE_MSCCL_PROTOCOL_COUNT] = {
#define MSCCL_ROW(name, text, depth) {text, depth},
    RONDE_MSCCL_PROTOCOL_LIST(MSCCL_ROW)
#undef MSCCL_ROW
};

void msccl_algo_free(struct msccl_algo *algo)
{
    ronde_list_free(algo->mem, &algo->gpus, sizeof(struct msccl_gpu));
    ronde_list_free(algo->mem, &algo->tbs, sizeof(struct msccl_tb));
    ronde_list_free(algo->mem, &algo->steps, sizeof(struct msccl_step));
    ronde_list_free(algo->mem, &algo->copies, sizeof(struct msccl_copy));
}

struct msccl_gpu *msccl_gpu_at(const struct msccl_algo *algo, uint32_t g)
{
    return (struct msccl_gpu *)algo->gpus.items + g;
}

struct msccl_tb *msccl_tb_at(const struct msccl_algo *algo, const struct msccl_gpu *gpu, uint32_t t)
{
    return (struct msccl_tb *)algo->tbs.items + gpu->first_tb + t;
}

struct msccl_step *msccl_step_at(const struct msccl_algo *algo, const struct msccl_tb *tb,
                                 uint32_t s)
{
    return (struct msccl_step *)algo->steps.items + tb->first_step + s;
}

uint32_t msccl_next_message(const struct msccl_algo *algo, const struct msccl_tb *tb, bool is_send,
                            uint32_t s)
{
    for (; s < tb->step_count; s++) {
        const struct msccl_op_row *row = &msccl_ops[msccl_step_at(algo, tb, s)->op];
        if (is_send ? row->sends : row->receives)
            break;
    }
    return s;
}

uint32_t msccl_parts(const struct msccl_algo *algo)
{
    const struct ronde_collective_traits *traits = ronde_collective_traits(algo->collective);
    return traits->in_per_rank || traits->out_per_rank ? algo->chunks / algo->ranks : algo->chunks;
}

uint32_t msccl_buffer_chunks(const struct msccl_algo *algo, const struct msccl_gpu *gpu,
                             enum ronde_buffer buffer)
{
    const uint32_t declared = gpu->chunks[buffer];
    if (buffer == RONDE_SCRATCH)
        return declared;
    const uint32_t blocks = buffer == RONDE_IN
                                ? ronde_collective_in_blocks(algo->collective, algo->ranks)
                                : ronde_collective_out_blocks(algo->collective, algo->ranks);
    const uint32_t chunks = blocks * msccl_parts(algo);
    /* 0 is written for a buffer that is not used, or is another one in place. */
    return declared > 0 && declared < chunks ? declared : chunks;
}

bool msccl_is_in_place_only(const struct msccl_algo *algo)
{
    return algo->in_place && !algo->out_of_place &&
           ronde_collective_traits(algo->collective)->has_in_place;
}
