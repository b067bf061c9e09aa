/**
 * Names of the constants of nccl_model.h as they stand in nccl/model/constants/: what each is and where it is from says its
 * line there.
 */
#ifndef RONDE_NCCL_CONSTANTS_H
#define RONDE_NCCL_CONSTANTS_H

/** Of all machines: common.txt. */
#define RONDE_NCCL_COMMON_LIST(X)                                                                  \
    X(launch_us_per_gpu)                                                                           \
    X(launch_us)                                                                                   \
    X(launch_ll128_us)                                                                             \
    X(launch_simple_us)                                                                            \
    X(launch_us_per_channel)                                                                       \
    X(launch_us_per_gpu_channel)                                                                   \
    X(nvlink_efficiency)                                                                           \
    X(pcie_efficiency)                                                                             \
    X(pcie_pairs_efficiency)                                                                       \
    X(pcie_switch_efficiency)                                                                      \
    X(pcie_ll_share)                                                                               \
    X(pcie_ll128_share)                                                                            \
    X(nvlink_ll_us)                                                                                \
    X(nvlink_ll128_us)                                                                             \
    X(nvlink_simple_us)                                                                            \
    X(pcie_ll_us)                                                                                  \
    X(pcie_ll128_us)                                                                               \
    X(pcie_simple_us)                                                                              \
    X(net_ll128_us)                                                                                \
    X(net_simple_us)                                                                               \
    X(net_flush_us)                                                                                \
    X(infiniband_latency_us)                                                                       \
    X(infiniband_rendezvous_us)                                                                    \
    X(infiniband_efficiency)                                                                       \
    X(slingshot_latency_us)                                                                        \
    X(slingshot_rendezvous_us)                                                                     \
    X(slingshot_efficiency)                                                                        \
    X(efa_latency_us)                                                                              \
    X(efa_rendezvous_us)                                                                           \
    X(efa_efficiency)                                                                              \
    X(tcpx_latency_us)                                                                             \
    X(tcpx_rendezvous_us)                                                                          \
    X(tcpx_efficiency)                                                                             \
    X(tcpxo_latency_us)                                                                            \
    X(tcpxo_rendezvous_us)                                                                         \
    X(tcpxo_efficiency)                                                                            \
    X(roce_latency_us)                                                                             \
    X(roce_rendezvous_us)                                                                          \
    X(roce_efficiency)                                                                             \
    X(ethernet_latency_us)                                                                         \
    X(ethernet_rendezvous_us)                                                                      \
    X(ethernet_efficiency)                                                                         \
    X(ethernet_channel_GBps)                                                                       \
    X(bridge_efficiency)                                                                           \
    X(lone_nic_efficiency)                                                                         \
    X(slot_efficiency)                                                                             \
    X(channel_ll_GBps)                                                                             \
    X(channel_ll128_share)                                                                         \
    X(channel_simple_GBps)                                                                         \
    X(net_channel_ll_GBps)                                                                         \
    X(net_channel_GBps)                                                                            \
    X(net_ll128_share)                                                                             \
    X(net_message_us)                                                                              \
    X(socket_ll_GBps)                                                                              \
    X(p2p_channel_GBps)                                                                            \
    X(p2p_host_channel_GBps)                                                                       \
    X(p2p_message_us)                                                                              \
    X(net_ring_step_us)                                                                            \
    X(p2p_slot_ratio)                                                                              \
    X(tree_net_efficiency)                                                                         \
    X(tree_second_child_hops)                                                                      \
    X(tree_nvlink_efficiency)                                                                      \
    X(tree_one_way_efficiency)                                                                     \
    X(tree_pcie_efficiency)                                                                        \
    X(overlap_net_ring_ll)                                                                         \
    X(overlap_hosted)                                                                              \
    X(overlap_host)                                                                                \
    X(nvls_us)                                                                                     \
    X(nvls_chunk_us)

/** Of a GPU generation: a file each. */
#define RONDE_NCCL_GENERATION_LIST(X)                                                              \
    X(launch_ratio)                                                                                \
    X(hop_ratio)                                                                                   \
    X(link_ratio)                                                                                  \
    X(ll128_ratio)                                                                                 \
    X(channel_ratio)                                                                               \
    X(nvls_efficiency)                                                                             \
    X(nvlink_link_GBps)                                                                            \
    X(slot_GBps)                                                                                   \
    X(channels)                                                                                    \
    X(nvls_channels)                                                                               \
    X(tree_channels_per_nic)                                                                       \
    X(tuner_nvlink_ratio)                                                                          \
    X(tuner_channel_GBps)                                                                          \
    X(tuner_tree_channel_GBps)                                                                     \
    X(tuner_simple_net_ratio)                                                                      \
    X(tuner_nvls)                                                                                  \
    X(tuner_ring_ll128_GBps)                                                                       \
    X(tuner_ll_1_GBps)                                                                             \
    X(tuner_ll_2_GBps)                                                                             \
    X(tuner_ll_4_GBps)                                                                             \
    X(tuner_tree_1_GBps)                                                                           \
    X(tuner_tree_2_GBps)                                                                           \
    X(tuner_tree_4_GBps)                                                                           \
    X(tuner_tree_ll128_1_GBps)                                                                     \
    X(tuner_tree_ll128_2_GBps)                                                                     \
    X(tuner_tree_ll128_4_GBps)

/** Constants of all machines. */
enum ronde_nccl_common {
#define RONDE_NCCL_ENUMERATOR(name) RONDE_NCCL_COMMON_##name,
    RONDE_NCCL_COMMON_LIST(RONDE_NCCL_ENUMERATOR)
#undef RONDE_NCCL_ENUMERATOR
        RONDE_NCCL_COMMON_COUNT /**< how many */
};

/** Constants of a generation. */
enum ronde_nccl_of_generation {
#define RONDE_NCCL_ENUMERATOR(name) RONDE_NCCL_OF_##name,
    RONDE_NCCL_GENERATION_LIST(RONDE_NCCL_ENUMERATOR)
#undef RONDE_NCCL_ENUMERATOR
        RONDE_NCCL_OF_GENERATION_COUNT /**< how many */
};

#endif
