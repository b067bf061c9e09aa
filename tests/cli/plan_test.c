/*
 * Choosing an algorithm as a user meets it: `ronde plan`, commands without -a, races, and who is said to have decided.
 * On the crossbar (1 us, 50 GB/s, no cost of a step) figures can be worked out by hand.
 */
#include "cli/draw/gnuplot.h"
#include "support/built_with.h"
#include "support/files.h"
#include "support/said.h"
#include "support/suite.h"

#include "ronde/schedules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if RONDE_ALL_COMPONENTS
#define BACKEND "cpu"
#else
#define BACKEND "host"
#endif

/* False after a visible skip: platform files want libxml2, records jansson. */
static bool has_everything(void)
{
    if (RONDE_ALL_COMPONENTS)
        return true;
    suite_skip("built without libxml2 or jansson (apt: libxml2-dev, libjansson-dev)");
    return false;
}

/* Lines of what `ronde ARGUMENTS` says that hold `part`. */
static int count_lines(const char *arguments, const char *part)
{
    char command[2048], *text = NULL;
    int lines = 0;
    snprintf(command, sizeof command, "\"%s\" %s 2>/dev/null | grep -c -- '%s'", suite_ronde(),
             arguments, part);
    (void)files_command(command, &text);
    lines = text ? atoi(text) : -1;
    free(text);
    return lines;
}

/* Algorithms of a collective. */
static uint32_t count_algorithms(enum ronde_collective collective)
{
    uint32_t total = 0, count = 0;
    const struct ronde_algorithm *const *all = ronde_algorithms(&total);
    for (uint32_t i = 0; i < total; i++)
        count += all[i]->collective == collective;
    return count;
}

/*
 * Eight ranks: direct_one_step takes 1 us + 7 n / 50, direct 2 us + 14 n / 8 / 50. They meet at n = 1000 * 50 / 5.25 =
 * 9,524 bytes; a change is found to 1 %, on the far side.
 */
static void a_plan_finds_the_crossover(void)
{
    if (!has_everything())
        return;
    said_expect("plan all_reduce -N 8 --topo crossbar-64 -b 1K -e 64K", 0,
                "B on direct, direct_one_step below");
    said_expect("plan all_reduce -N 8 --topo crossbar-64 -b 1K -e 64K | "
                "awk '/^# from/ { print ($3 > 9523 && $3 < 9620) ? \"right\" : \"wrong\" }'",
                0, "right");
    said_expect("plan all_reduce -N 8 --topo crossbar-64 -b 1K -e 4K", 0,
                "direct_one_step at every size");
    /* A change in what is left of sizes that are no multiple of its hundredth: the search ends there. */
    said_expect("plan all_reduce -N 8 --topo crossbar-64 -b 3000 -e 30000000 -f 100", 0,
                "# from 30000000 B on direct, hierarchical_direct below");
    said_expect("plan all_reduce -N 8 --topo fat-tree-2to1-64 -b 1000003 -e 64M -f 2", 0,
                "  64000192");
    /* 1 us + 7 * 1024 / 50 ns, exactly. */
    said_expect("plan all_reduce -N 8 --topo crossbar-64 -b 1K -e 1K --csv", 0,
                "direct_one_step,1,auto,,1143.3600000000001,closed_form,true,direct,");
}

/*
 * Where every rank sends to all others at once NICs and uplinks are shared: direct looks fastest on its own routes (48 us and
 * 8.2) and takes 105 and 15.9; of all_to_all, where all messages flow at once, 5.9. All pairs inside nodes and between them share none.
 */
static void a_plan_knows_that_flows_share_links(void)
{
    static const struct {
        const char *nodes, *plan, *winner;
    } cases[] = {
        {"32", "all_reduce -b 1M -e 1M",
         "hierarchical_pairs 9.97 105.21 209.59 51.0 yes forest_wide 1.57"},
        {"2", "all_to_all -b 256K -e 256K", "direct_parallel 5.92 "},
    };
    char arguments[512], rail[256];
    if (!has_everything())
        return;
    snprintf(rail, sizeof rail, "%s/plan-rail-%d.xml", RONDE_SCRATCH_DIR, (int)getpid());
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snprintf(arguments, sizeof arguments, "topo generate rail --nodes %s -o %s", cases[i].nodes,
                 rail);
        said_expect(arguments, 0, "");
        snprintf(arguments, sizeof arguments, "plan %s --topo %s", cases[i].plan, rail);
        said_expect_row(arguments, 0, cases[i].winner);
    }
    /* Whoever cannot win has no time, only a bound that says so; a picture has everybody's time. */
    snprintf(arguments, sizeof arguments, "plan all_reduce -b 1M -e 1M --json --topo %s", rail);
    said_expect(arguments, 0, "\"bound\": true");
    unlink(rail);
}

/* The longest path knows nothing of uplinks that half of the hosts share: it was 2.1 times better than the bound. */
static void a_price_is_no_less_than_what_links_take(void)
{
    char arguments[512], tree[256];
    if (!has_everything())
        return;
    snprintf(tree, sizeof tree, "%s/price-tree-%d.xml", RONDE_SCRATCH_DIR, (int)getpid());
    snprintf(arguments, sizeof arguments,
             "topo generate fat-tree --nodes 1024 --oversubscription 2 -o %s", tree);
    said_expect(arguments, 0, "");
    snprintf(arguments, sizeof arguments,
             "sim --engine price all_reduce -a double_tree -N 64 -b 4M -e 4M --topo %s", tree);
    said_expect_row(arguments, 0, "98.4 dag worst_pair,link_limited");
    unlink(tree);
}

/* The bound is of the first hosts: ranks that are scattered over others have none, and sim says so as plan does. */
static void bounds_are_of_the_hosts_that_take_part(void)
{
    if (!has_everything())
        return;
    said_prints("plan all_reduce --topo dgx-h100-pod -N 64 -b 8 -e 8 --json", 0,
                "\"bound_share\": null");
    said_prints("sim all_reduce --topo dgx-h100-pod -N 64 -b 8 -e 8 --json", 0,
                "\"bound_share\": null");
    said_prints("plan all_reduce --topo dgx-h100-pod -N 64 -b 2K -e 2K --json", 0,
                "\"bound_share\": 0.5");
}

/* Ranks 0 to 16 are on hosts that reach each other; scattered ones would not be, and nobody asked for these. */
static void hosts_that_are_cut_off_are_not_tried(void)
{
    if (!has_everything())
        return;
    said_expect_row("plan send_recv -N 17 --topo fat-tree-2to1-64 --without up4 -b 4K -e 4K", 0,
                    "4096 direct 1.34");
    said_refuses("plan send_recv -N 17 --topo fat-tree-2to1-64 --without up1 -b 4K -e 4K", 2,
                 "no way is left from h0 to h8");
}

/* What an extra rank sends meets others' messages in a port, as the replay shows. */
static void a_formula_without_shared_ports_is_not_exact_where_they_are_shared(void)
{
    if (!has_everything())
        return;
    said_expect_row("sim --engine price all_reduce -a recursive_doubling -N 5 -b 1M -e 1M "
                    "--topo dgx-h100",
                    0, "closed_form approximate");
    said_expect_row("sim --engine price all_reduce -a recursive_doubling -N 4 -b 1M -e 1M "
                    "--topo dgx-h100",
                    0, "closed_form exact");
}

static void a_plan_has_every_candidate_for_programs(void)
{
    if (!has_everything())
        return;
    const char *json = "plan broadcast -N 6 --topo crossbar-64 -b 1K -e 1M -f 32 --json";
    CU_ASSERT_EQUAL(count_lines(json, "\"kind\": \"plan\""), 3);
    CU_ASSERT_EQUAL(count_lines(json, "\"algorithm\": \"scatter_allgather\", \"time_ns\""), 3);
    CU_ASSERT(count_lines(json, "\"kind\": \"change\"") >= 1);
    CU_ASSERT_EQUAL(count_lines("plan broadcast -N 6 --topo crossbar-64 -b 1K -e 1M -f 32 --csv",
                                "^kind,collective,ranks,bytes,"),
                    1);
    /* All hosts where nobody says how many ranks. */
    said_expect("plan barrier --topo crossbar-64", 0, "barrier, 64 ranks");
}

/* A schedule that somebody made is in every picture, though it never wins. */
static void own_schedules_are_drawn(void)
{
    static const char *const lines[] = {"plan all_reduce -a " RONDE_SCRATCH_DIR
                                        "/own.ronde -N 8 --topo crossbar-64 -b 1K -e 64K",
                                        "sweep all_reduce -a ring," RONDE_SCRATCH_DIR
                                        "/own.ronde -N 8 --bytes 1K:64K:x8 --topo crossbar-64",
                                        "sim " RONDE_SCRATCH_DIR
                                        "/own.ronde --topo crossbar-64 -b 1K -e 64K"};
    const char *why = NULL;
    char command[1024];
    if (!has_everything())
        return;
    if (!ronde_plot_available(&why)) {
        suite_skip("%s", why);
        return;
    }
    said_expect("convert all_reduce -a tree -N 8 -o " RONDE_SCRATCH_DIR "/own.ronde", 0, "");
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        snprintf(command, sizeof command, "%s --plot " RONDE_SCRATCH_DIR "/own.svg", lines[i]);
        said_expect(command, 0, "");
        char *picture = files_read(RONDE_SCRATCH_DIR "/own.svg");
        CU_ASSERT_PTR_NOT_NULL_FATAL(picture);
        CU_ASSERT_PTR_NOT_NULL(strstr(picture, "own.ronde"));
        CU_ASSERT_PTR_NOT_NULL(strstr(picture, "crossbar"));
        free(picture);
    }
}

static void plans_that_cannot_be_made_are_refused(void)
{
    said_expect("plan all_reduce -N", 2, "option -N needs a value");
    said_expect("plan all_reduce -a ring -N 4", 2, "leave out -a");
    said_expect("plan all_reduce -N 4 --backend gpu", 2, "nothing is known of how fast gpu is");
    said_expect("plan all_reduce -N 4 -b 1 -e 1M -i 16", 2, "more than 64 sizes");
    if (!has_everything())
        return;
    said_expect("plan all_reduce -N 100 --topo crossbar-64", 2, "100 ranks, but it has 64 hosts");
    said_expect("plan all_reduce -N 4 --topo no/such.xml", 2, "no/such.xml");
    said_expect("plan all_reduce -N 4 --topo crossbar-64 --engine nobody", 2, "nobody");
}

static void a_run_says_who_chose(void)
{
    const char *words = "run broadcast -N 4 --backend " BACKEND " -b 64 -e 4K -n 1 -w 0";
    said_expect(words, 0, "# algorithms by times measured on cpu, ");
    said_expect(words, 0, "# algorithm ");
    said_expect(words, 0, "broadcast auto, 4 ranks");
    said_expect(words, 0, "Out of bounds values : 0 OK");
    said_expect("run broadcast -N 4 -a auto --backend host -b 64 -e 64 -n 1 -w 0", 0,
                "# algorithm ");
    /* Whoever is named is not chosen. */
    CU_ASSERT_EQUAL(count_lines("run broadcast -N 4 -a chain --backend host -b 64 -e 64 -n 1 -w 0",
                                "# algorithm"),
                    0);
    if (!has_everything())
        return;
    said_expect("run all_reduce -N 4 --topo crossbar-64 --backend host -b 64 -e 64 -n 1 -w 0", 0,
                "# algorithms by price on crossbar-64");
    said_expect("run all_reduce -N 4 --topo crossbar-64 --backend host -b 64 -e 64 -n 1 -w 0", 0,
                "# algorithm direct_one_step");
}

static void a_race_has_all_of_them(void)
{
    const char *words = "run broadcast -N 3 -a race --backend host -b 64 -e 64 -n 1 -w 0";
    said_expect(words, 0, "# algorithms by a race");
    said_expect(words, 0, " us (race), next ");
    said_expect("run send_recv -N 3 -a race --backend host -b 64 -e 64 -n 1 -w 0", 0,
                "# algorithm direct");
    if (!has_everything())
        return;
    /* All of the registry raced; the winner ran in both placements. */
    const char *json = "run broadcast -N 4 -a race --backend host -b 64 -e 64 -n 1 -w 0 --json";
    CU_ASSERT_EQUAL(count_lines(json, "\"race\""), (int)count_algorithms(RONDE_BROADCAST));
    CU_ASSERT_EQUAL(count_lines(json, "\"kind\""), (int)count_algorithms(RONDE_BROADCAST) + 2);
}

/* Rank 0 reads the machine file and tells the others, who need none. */
static void processes_run_what_rank_0_chose(void)
{
    if (!has_everything())
        return;
    said_expect("run all_reduce -N 3 --backend proc -b 64 -e 1M -f 128 -n 2 -w 1", 0,
                "# algorithms by times measured on proc, ");
    said_expect("run all_reduce -N 3 --backend proc -b 64 -e 1M -f 128 -n 2 -w 1", 0,
                "Out of bounds values : 0 OK");
    said_expect("run all_reduce -N 3 --backend proc -b 64 -e 64 -n 2 -w 1 --topo crossbar-64", 0,
                "# algorithm direct_one_step");
    said_expect("run all_reduce -N 3 --backend proc -a race -b 64 -e 64 -n 2 -w 1", 0,
                "Out of bounds values : 0 OK");
    said_expect("run all_reduce -N 3 --backend proc -b 64 -e 64 --topo no/such.xml", 2,
                "no/such.xml");
}

static void predictions_follow_the_plan(void)
{
    if (!has_everything())
        return;
    said_expect("sim all_reduce -N 8 --topo crossbar-64 -b 1K -e 1M -f 32", 0,
                "# algorithm direct_one_step: 1.14 us (closed_form), next direct 2.04 us");
    CU_ASSERT_EQUAL(count_lines("sim all_reduce -N 8 --topo crossbar-64 -b 1K -e 1M -f 32",
                                "^# algorithm"),
                    3);
    said_expect("sim --engine price all_reduce -N 8 --topo crossbar-64 -b 64K -e 64K --csv", 0,
                ",all_reduce,direct,8,");
    said_expect("sim --engine price all_reduce -N 8 --topo crossbar-64 -b 1M -e 1M --csv", 0,
                "modelled,dag,all_reduce,forest_wide,8,");
    said_expect(
        "sim all_reduce -N 8 --topo crossbar-64 -b 1M -e 1M --placement file,scattered --csv", 0,
        "scattered");
    said_expect("convert all_reduce -a auto -N 8 -b 1K --topo crossbar-64", 0,
                "algorithm direct_one_step\n");
    said_expect("convert all_reduce -a auto -N 8 -b 64K --topo crossbar-64", 0,
                "algorithm direct\n");
    said_expect("convert all_reduce -a auto -N 8 -b 1M --topo crossbar-64", 0, "algorithm forest\n");
    said_expect("convert all_reduce -a auto -N 8 -b 1M --topo crossbar-64 "
                "--degrade hosts_link_3_UP=.5",
                0, "by price on crossbar-64-hosts_link_3_UP=0.5");
    said_expect("convert all_reduce -N 8", 0, "algorithm ring\n");
}

static void a_plan_is_drawn(void)
{
    const char *why = NULL;
    if (!has_everything())
        return;
    if (!ronde_plot_available(&why)) {
        suite_skip("%s", why);
        return;
    }
    char *text = NULL;
    said_expect("plan all_reduce -N 8 --topo crossbar-64 -b 1K -e 64K --plot \"" RONDE_SCRATCH_DIR
                "/plan.svg\"",
                0, "# from");
    CU_ASSERT_EQUAL(
        files_command(
            "grep -o '>Which all_reduce is the fastest at which size? 8 ranks on "
            "crossbar-64<\\|<text>direct_one_step<\\|<text>the fastest: planned<\\|</svg>' "
            "'" RONDE_SCRATCH_DIR "/plan.svg' | sort",
            &text),
        0);
    CU_ASSERT_STRING_EQUAL(
        text, "</svg>\n<text>direct_one_step<\n<text>the fastest: planned<\n"
              ">Which all_reduce is the fastest at which size? 8 ranks on crossbar-64<\n");
    free(text);
    /* Schedules made for the machine are one curve: of them only the fastest has its time. */
    said_expect("plan all_reduce -N 8 --topo crossbar-64 -b 1K -e 1M --plot \"" RONDE_SCRATCH_DIR
                "/plan.svg\"",
                0, "forest_wide");
    CU_ASSERT_EQUAL(files_command("grep -o '<text>forest.*<' '" RONDE_SCRATCH_DIR "/plan.svg'",
                                  &text),
                    0);
    CU_ASSERT_STRING_EQUAL(text, "<text>forest<\n");
    free(text);
    /* An algorithm has one curve, however many set-ups it has. */
    said_expect("plan all_reduce -N 16 --topo fat-tree-2to1-64 -b 1K -e 64K --plot "
                "\"" RONDE_SCRATCH_DIR "/plan.svg\"",
                0, "# from");
    CU_ASSERT_EQUAL(files_command("grep -c '<text>direct<' '" RONDE_SCRATCH_DIR "/plan.svg'", &text),
                    0);
    CU_ASSERT_STRING_EQUAL(text, "1\n");
    free(text);
    /* The picture is not printed instead. */
    CU_ASSERT_EQUAL(
        count_lines(
            "plan all_reduce -N 8 --topo crossbar-64 -b 1K -e 1K --plot /no/such/folder/x.svg",
            "svg"),
        0);
    said_expect("plan all_reduce -N 8 --topo crossbar-64 -b 1K -e 1K --plot /no/such/folder/x.svg",
                2, "/no/such/folder/x.svg");
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"a_plan_finds_the_crossover", a_plan_finds_the_crossover},
        {"a_plan_knows_that_flows_share_links", a_plan_knows_that_flows_share_links},
        {"a_price_is_no_less_than_what_links_take", a_price_is_no_less_than_what_links_take},
        {"bounds_are_of_the_hosts_that_take_part", bounds_are_of_the_hosts_that_take_part},
        {"hosts_that_are_cut_off_are_not_tried", hosts_that_are_cut_off_are_not_tried},
        {"a_formula_without_shared_ports_is_not_exact_where_they_are_shared",
         a_formula_without_shared_ports_is_not_exact_where_they_are_shared},
        {"a_plan_has_every_candidate_for_programs", a_plan_has_every_candidate_for_programs},
        {"a_plan_is_drawn", a_plan_is_drawn},
        {"own_schedules_are_drawn", own_schedules_are_drawn},
        {"plans_that_cannot_be_made_are_refused", plans_that_cannot_be_made_are_refused},
        {"a_run_says_who_chose", a_run_says_who_chose},
        {"a_race_has_all_of_them", a_race_has_all_of_them},
        {"processes_run_what_rank_0_chose", processes_run_what_rank_0_chose},
        {"predictions_follow_the_plan", predictions_follow_the_plan},
    };
    return suite_run("plan", cases, sizeof cases / sizeof cases[0]);
}
