/**
 * Tables of published measurements: what RFC 4180 lets a cell be, which columns and numbers are needed, which rows
 * contradict themselves and are left out with their line, what is kept of one system, and what descriptions of machines
 * have to do with it.
 */
#include "nccl_shipped.h"

#include "support/files.h"
#include "support/suite.h"

#include "ronde/published.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COLUMNS                                                                                    \
    "system,collective,algorithm,protocol,gpus,nodes,bytes,time_us,algbw_GBps,nccl_version,notes"
#define HEAD COLUMNS "\n"

/** A row but for its first cells and its last. */
#define ROW "all_reduce,auto,auto,8,1,1048576,50,20.97,2.29.2,"

static const char path[] = "published_read_test.csv";

/** Of what was read last. */
static struct ronde_error error;

static enum ronde_status read_of(const char *text, const char *system, struct ronde_published *table)
{
    char folder[4096];
    error = (struct ronde_error){.status = RONDE_OK};
    CU_ASSERT_FATAL(suite_source(folder, sizeof folder, "topologies/published"));
    CU_ASSERT_FATAL(files_write(path, text));
    const enum ronde_status status =
        ronde_published_read(path, folder, system, ronde_mem_default(), table, &error);
    CU_ASSERT_EQUAL(unlink(path), 0);
    return status;
}

/** A text that is read; ronde_published_close frees what it holds. */
static struct ronde_published read_good(const char *text)
{
    struct ronde_published table;
    CU_ASSERT_EQUAL_FATAL(read_of(text, NULL, &table), RONDE_OK);
    return table;
}

/** A text that is refused, at a line, with these words. */
static void refused(const char *text, uint32_t line, const char *says)
{
    struct ronde_published table;
    CU_ASSERT_EQUAL(read_of(text, NULL, &table), RONDE_BAD_INPUT);
    if (error.line != line || !strstr(error.message, says))
        suite_note("line %u, \"%s\" but: %s", line, says, error.message);
    CU_ASSERT_EQUAL(error.line, line);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, says));
    ronde_published_close(&table);
}

/** A text with one row that is left out, at a line, with these words, and `others` rows that are kept. */
static void left_out(const char *text, size_t others, uint32_t line, const char *says)
{
    struct ronde_published table = read_good(text);
    CU_ASSERT_EQUAL(table.count, others);
    CU_ASSERT_FATAL(table.why_count >= 1);
    const struct ronde_published_why *why = &table.whys[table.why_count - 1];
    if (why->line != line || !strstr(why->text, says))
        suite_note("line %u, \"%s\" but: %u, %s", line, says, why->line, why->text);
    CU_ASSERT_EQUAL(why->line, line);
    CU_ASSERT(why->is_refused);
    CU_ASSERT_PTR_NOT_NULL(strstr(why->text, says));
    CU_ASSERT_PTR_NULL(strstr(why->text, path));
    ronde_published_close(&table);
}

/* Quotes around any cell, doubled inside, commas inside, lines ended by CR LF, blank lines, no newline at the end. */
static void cells_are_those_of_rfc_4180(void)
{
    static const char *const texts[] = {
        HEAD "a," ROW "\n",
        HEAD "\"a\",\"all_reduce\",\"auto\",\"auto\",\"8\",\"1\",\"1048576\",\"50\",\"20.97\","
             "\"2.29.2\",\"\"\n",
        COLUMNS "\r\na," ROW "x\r\n",
        HEAD "\n \n\t\r\na," ROW "\n\n",
        HEAD "a," ROW,
        HEAD "a," ROW "\"x, \"\"y\"\", z\"\n",
        HEAD "a," ROW ",,,\n",
        "\xef\xbb\xbf" HEAD "a," ROW "\r\n",
        "\n" HEAD "a," ROW "\n",
        HEAD " a , all_reduce,\tauto,auto,8 ,1,1048576, 50,20.97 ,2.29.2,x\n",
        HEAD "a,AllReduce,Auto,,8.0,1.0,1048576.0,50,20.97,NCCL version 2.29.2+cuda13.1,\n",
        "\"notes\",\"x,y\",bytes,time_us,algbw_GBps,nccl_version,system,collective,algorithm,"
        "protocol,gpus,nodes\n\"\",\"1,2\",1048576,50,20.97,2.29.2,a,all_reduce,auto,auto,8,1\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct ronde_published table = read_good(texts[i]);
        CU_ASSERT_EQUAL_FATAL(table.count, 1);
        CU_ASSERT_STRING_EQUAL(table.systems[0].name, "a");
        CU_ASSERT_EQUAL(table.rows[0].call.collective, RONDE_ALL_REDUCE);
        CU_ASSERT_EQUAL(table.rows[0].call.ranks, 8);
        CU_ASSERT_EQUAL(table.rows[0].call.nodes, 1);
        CU_ASSERT_EQUAL(table.rows[0].call.bytes, 1048576);
        CU_ASSERT_EQUAL(table.rows[0].call.version, 229);
        CU_ASSERT_EQUAL(table.rows[0].measured_us, 50);
        CU_ASSERT_EQUAL(table.rows[0].state, RONDE_PUBLISHED_PREDICTED);
        ronde_published_close(&table);
    }
}

static void quotes_that_do_not_fit_are_refused(void)
{
    refused(HEAD "a," ROW "\"x\n", 2, "a quote in column 11 is not closed");
    refused(HEAD "a," ROW "\"x\"y\n", 2, "column 11");
    refused(HEAD "\"a," ROW "\n", 2, "column 1 ");
    refused(HEAD "\"\"\"," ROW "\n", 2, "column 1 ");
    left_out(HEAD "a," ROW "\n\"", 1, 3, "column 1 ");
    left_out(HEAD "a," ROW "\n\"a," ROW "\na," ROW "\n", 2, 3, "column 1 ");
    refused("\"system,collective\n", 1, "column 1 ");
    /* A cell over two lines is allowed by the RFC, but no table has one: refused, not read as two rows. */
    refused(HEAD "a," ROW "\"x\ny\"\n", 2, "column 11");
}

/* Four columns have to be there, and each once; what the others leave out is not stated. */
static void columns_are_there_once(void)
{
    static const char *const columns[] = {"system",     "collective",   "algorithm", "protocol",
                                          "gpus",       "nodes",        "bytes",     "time_us",
                                          "algbw_GBps", "nccl_version", "notes"};
    enum { COUNT = sizeof columns / sizeof columns[0] };
    for (size_t faulty = 0; faulty < COUNT; faulty++) {
        char text[512] = "extra", says[128];
        for (size_t c = 0; c < COUNT; c++)
            for (int n = 0; n < (c != faulty ? 1 : 2); n++) {
                strcat(text, ",");
                strcat(text, columns[c]);
            }
        strcat(text, "\nx," ROW ",x,\n");
        snprintf(says, sizeof says, "columns %zu and %zu are both %s", faulty + 2, faulty + 3,
                 columns[faulty]);
        refused(text, 1, says);
    }
    refused("collective,gpus,bytes\nall_reduce,8,64\n", 1, "no column system");
    refused("system,gpus,bytes\na,8,64\n", 1, "no column collective");
    refused("system,collective,bytes\na,all_reduce,64\n", 1, "no column gpus");
    refused("system,collective,gpus\na,all_reduce,8\n", 1, "no column bytes");
    refused("systems,gpus\n", 1, "no column system; a table's first line names its columns");
}

/* As spreadsheets and people write headings; a name that is there as it is goes before one like it. */
static void headings_are_read_as_people_write_them(void)
{
    static const char *const tables[] = {
        "System,Collective,GPUs,Size (B),Time (us)\na,all_reduce,8,1048576,50\n",
        "SYSTEM;COLLECTIVE;RANKS;BYTES;TIME_US;ALGBW "
        "(GB/s)\na;all_reduce;8;1048576;50,0;20,97152\n",
        "system\tcollective\tgpus\tbytes\ttime (\xc2\xb5s)\na\tall_reduce\t8\t1048576\t50\n",
        "system,collective,gpus,bytes,BusBW (GB/s)\na,all_reduce,8,1048576,36.70016\n",
        "Bytes,system,collective,gpus,bytes,time_us\nmany,a,all_reduce,8,1048576,50\n",
    };
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        struct ronde_published table = read_good(tables[i]);
        CU_ASSERT_EQUAL(table.rows[0].call.ranks, 8);
        CU_ASSERT_EQUAL(table.rows[0].call.bytes, 1048576);
        CU_ASSERT_DOUBLE_EQUAL(table.rows[0].measured_us, 50, 1e-9);
        ronde_published_close(&table);
    }
    refused("system,collective,gpus,Size,size (B)\na,all_reduce,8,64,64\n", 1,
            "columns 4 and 5 are both bytes");
    refused("\xff\xfes", 1, "UTF-16");
    refused("system,collective,gpus,bytes,time_us,busbw_GBps\na,all_reduce,8,1048576,50,20.97\n", 2,
            "busbw_GBps 20.97 contradicts time_us 50");
}

/* What a table does not say: no wish, as few nodes as there can be, no version, and a time by its rate, or none at all. */
static void columns_may_be_missing(void)
{
    static const struct {
        const char *text;
        enum ronde_published_state state;
        double measured_us;
    } tables[] = {
        {"system,collective,gpus,bytes\na,all_reduce,8,1048576\n", RONDE_PUBLISHED_UNMEASURED, 0},
        {"system,collective,gpus,bytes,time_us\na,all_reduce,8,1048576,50\n",
         RONDE_PUBLISHED_PREDICTED, 50},
        {"system,collective,gpus,bytes,algbw_GBps\na,all_reduce,8,1048576,20.97152\n",
         RONDE_PUBLISHED_PREDICTED, 50},
        {"system,collective,gpus,bytes,busbw_GBps\na,all_reduce,8,1048576,36.70016\n",
         RONDE_PUBLISHED_PREDICTED, 50},
        {"system,collective,gpus,bytes,time_us,algbw_GBps\na,all_reduce,8,1048576,,\n",
         RONDE_PUBLISHED_UNMEASURED, 0},
    };
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        struct ronde_published table = read_good(tables[i].text);
        CU_ASSERT_EQUAL(table.rows[0].state, tables[i].state);
        CU_ASSERT_DOUBLE_EQUAL(table.rows[0].measured_us, tables[i].measured_us, 1e-9);
        CU_ASSERT_EQUAL(table.rows[0].call.nodes, 0);
        CU_ASSERT_EQUAL(table.rows[0].call.version, 0);
        CU_ASSERT_EQUAL(table.rows[0].wish.algorithm, RONDE_NCCL_ALGORITHM_COUNT);
        ronde_published_close(&table);
    }
}

/* 64 cells and 4094 bytes are what a line may have. */
static void lines_have_a_longest(void)
{
    for (size_t length = 4080; length < 4110; length++) {
        static char text[8192];
        struct ronde_published table;
        const size_t head = (size_t)snprintf(text, sizeof text, "%s", HEAD);
        const size_t row = (size_t)snprintf(text + head, sizeof text - head, "a,%s", ROW);
        memset(text + head + row, 'n', length - row);
        strcpy(text + head + length, "\n");
        const enum ronde_status status = read_of(text, NULL, &table);
        CU_ASSERT_EQUAL(status, length <= 4094 ? RONDE_OK : RONDE_BAD_INPUT);
        CU_ASSERT_EQUAL(error.line, length <= 4094 ? 0 : 2);
        ronde_published_close(&table);
    }
    for (size_t cells = 60; cells < 70; cells++) {
        char text[1024] = HEAD "a," ROW;
        struct ronde_published table;
        memset(text + strlen(text), ',', cells - 11);
        CU_ASSERT_EQUAL(read_of(text, NULL, &table), cells <= 64 ? RONDE_OK : RONDE_BAD_INPUT);
        CU_ASSERT(cells <= 64 || strstr(error.message, "more than 64 columns"));
        ronde_published_close(&table);
    }
}

static void a_zero_byte_leaves_a_line_out(void)
{
    static const char text[] = HEAD "a," ROW "\0FAULTY\nb," ROW "\n";
    struct ronde_published table;
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fwrite(text, 1, sizeof text - 1, file), sizeof text - 1);
    fclose(file);
    CU_ASSERT_EQUAL(ronde_published_read(path, NULL, NULL, ronde_mem_default(), &table, &error),
                    RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(table.why_count, 1);
    CU_ASSERT_EQUAL(table.whys[0].line, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(table.whys[0].text, "zero byte"));
    CU_ASSERT_EQUAL(table.count, 1);
    CU_ASSERT_STRING_EQUAL(table.systems[0].name, "b");
    ronde_published_close(&table);
    CU_ASSERT_EQUAL(unlink(path), 0);
}

/* Numbers of a second row: the first is as it should be, so that the line is told. */
static void numbers_are_checked(void)
{
    static const struct {
        const char *numbers, *says;
    } cases[] = {
        {"0,1,64,5,0.0128,", "gpus \"0\" is not a whole number from 1 to 1048576"},
        {"1048577,1,64,5,0.0128,", "gpus \"1048577\""},
        {"+8,1,64,5,0.0128,", "gpus \"+8\""},
        {"8.5,1,64,5,0.0128,", "gpus \"8.5\""},
        {"0x8,1,64,5,0.0128,", "gpus \"0x8\""},
        {"1e999,1,64,5,0.0128,", "gpus \"1e999\""},
        {",1,64,5,0.0128,", "gpus \"\""},
        {"99999999999999999999,1,64,5,0.0128,", "gpus \"99999999999999999999\""},
        {"8,0,64,5,0.0128,", "nodes \"0\" is not a whole number from 1 to 8"},
        {"8,9,64,5,0.0128,", "nodes \"9\""},
        {"8,3,64,5,0.0128,", "8 gpus are not equally many on 3 nodes"},
        {"8,1,0,5,0.0128,", "bytes \"0\""},
        {"8,1,64K,5,0.0128,", "bytes \"64K\""},
        {"8,1,1125899906842625,5,225179981368,", "bytes \"1125899906842625\""},
        {"8,1,64,0,0.0128,", "time_us \"0\" is not a number above 0"},
        {"8,1,64,inf,0.0128,", "time_us \"inf\""},
        {"8,1,64,5us,0.0128,", "time_us \"5us\""},
        {"8,1,64,5,N/A,", "algbw_GBps \"N/A\""},
        {"8,1,64,5,-1,", "algbw_GBps \"-1\""},
        {"8,1,64,5,0.02,", "contradicts"},
        {"8,1,64,5,0.0133,", "contradicts time_us 5 of 64 bytes, which are 0.0128 GB/s"},
        {"8,1,64,5,0.0123,", "contradicts"},
        {"8,1,64,5,12.8,", "contradicts"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[1024];
        snprintf(text, sizeof text, HEAD "a," ROW "\na,all_reduce,auto,auto,%s,\na," ROW "\n",
                 cases[i].numbers);
        left_out(text, 2, 3, cases[i].says);
    }
}

static void numbers_at_their_bounds_are_taken(void)
{
    static const struct {
        const char *numbers;
        uint32_t version;
    } cases[] = {{"1048576,1048576,1,1,0.001,2.8.4", 208},
                 {"8,1,1125899906842624,1e6,1125899.9,2.30", 230},
                 {"8,8,64,5,0.01317,2.16.5", 216},
                 {"8,8,64,5,0.01243,99.99.99", 9999},
                 {"8,2,64,5.0e0,1.28e-2,", 0},
                 /* Rates as nccl-tests prints them, two digits behind the point. */
                 {"8,2,64,5,0.01,", 0},
                 {"8,2,8,50,0.00,", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[1024];
        snprintf(text, sizeof text, HEAD "a,all_reduce,auto,auto,%s,\n", cases[i].numbers);
        struct ronde_published table = read_good(text);
        CU_ASSERT_EQUAL(table.rows[0].call.version, cases[i].version);
        ronde_published_close(&table);
    }
}

/* Of what NCCL is forced to, and whether the model has it; FAULTY goes before all else, in capitals wherever notes say it. */
static void states_are_told_by_words(void)
{
    static const struct {
        const char *words, *bytes, *notes;
        enum ronde_published_state state;
        unsigned algorithm, protocol;
    } cases[] = {
        {"all_reduce,Ring,LL", "1024,5,0.2048", "", RONDE_PUBLISHED_PREDICTED, 0, 0},
        {"all_gather,Tree,LL128", "1024,5,0.2048", "", RONDE_PUBLISHED_PREDICTED, 1, 1},
        {"reduce,NVLS,Simple", "1024,5,0.2048", "", RONDE_PUBLISHED_PREDICTED, 2, 2},
        {"broadcast,NVLSTree,auto", "1024,5,0.2048", "", RONDE_PUBLISHED_PREDICTED, 3, 3},
        {"all_reduce,ring,ll", "1024,5,0.2048", "", RONDE_PUBLISHED_PREDICTED, 0, 0},
        {"Reduce-Scatter,TREE,SIMPLE", "1024,5,0.2048", "", RONDE_PUBLISHED_PREDICTED, 1, 2},
        {"all_gather_perf,default,-", "1024,5,0.2048", "", RONDE_PUBLISHED_PREDICTED, 4, 3},
        {"AllToAll,,auto", "1024,5,0.2048", "", RONDE_PUBLISHED_PREDICTED, 4, 3},
        {"reduce_scatter,auto,auto", "1023,5,0.2046", "", RONDE_PUBLISHED_SMALL, 4, 3},
        {"all_reduce,CollNetDirect,auto", "1024,5,0.2048", "", RONDE_PUBLISHED_NOT_MODELLED, 4, 3},
        {"all_reduce,auto,LL64", "1024,5,0.2048", "", RONDE_PUBLISHED_NOT_MODELLED, 4, 3},
        {"hypercube,auto,auto", "1024,5,0.2048", "", RONDE_PUBLISHED_NOT_MODELLED, 4, 3},
        {"all_to_all,auto,auto", "1024,5,0.2048", "", RONDE_PUBLISHED_PREDICTED, 4, 3},
        {"sendrecv,auto,auto", "64,5,0.0128", "", RONDE_PUBLISHED_SMALL, 4, 3},
        {"barrier,auto,auto", "64,5,0.0128", "", RONDE_PUBLISHED_NOT_MODELLED, 4, 3},
        {"all_reduce,auto,auto", "64,5,0.0128", "FAULTY", RONDE_PUBLISHED_FAULTY, 4, 3},
        {"sendrecv,auto,auto", "1024,5,0.2048", "FAULTY: x", RONDE_PUBLISHED_FAULTY, 4, 3},
        {"all_reduce,auto,auto", "1024,5,0.2048", "set-up 1; FAULTY config", RONDE_PUBLISHED_FAULTY,
         4, 3},
        {"all_reduce,auto,auto", "1024,5,0.2048", "faulty", RONDE_PUBLISHED_PREDICTED, 4, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[1024];
        snprintf(text, sizeof text, HEAD "a,%s,4,1,%s,,%s\n", cases[i].words, cases[i].bytes,
                 cases[i].notes);
        struct ronde_published table = read_good(text);
        CU_ASSERT_EQUAL(table.rows[0].state, cases[i].state);
        CU_ASSERT_EQUAL(table.rows[0].wish.algorithm, cases[i].algorithm);
        CU_ASSERT_EQUAL(table.rows[0].wish.protocol, cases[i].protocol);
        const bool is_said = *ronde_published_why_of(&table, &table.rows[0], &error) != '\0';
        CU_ASSERT_EQUAL(is_said, cases[i].state == RONDE_PUBLISHED_NOT_MODELLED);
        ronde_published_close(&table);
    }
}

/* Names of systems are names of files: none leads out of the folder, and there is a longest and a most. */
static void systems_are_named_and_counted(void)
{
    static char text[32768];
    size_t used = 0;
    char name[80] = "";
    refused(HEAD "," ROW "\n", 2, "\"\" is no name of a system");
    refused(HEAD "a/b," ROW "\n", 2, "\"a/b\" is no name");
    memset(name, 'n', 64);
    snprintf(text, sizeof text, HEAD "%s," ROW "\n", name);
    refused(text, 2, "is no name of a system");
    for (unsigned systems = 64; systems < 66; systems++) {
        used = (size_t)snprintf(text, sizeof text, "%s", HEAD);
        for (unsigned s = 0; s < 2 * systems; s++)
            used += (size_t)snprintf(text + used, sizeof text - used, "s%u,%s\n", s / 2, ROW);
        struct ronde_published table = read_good(text);
        CU_ASSERT_EQUAL(table.system_count, 64);
        CU_ASSERT_EQUAL(table.count, 128);
        CU_ASSERT_EQUAL_FATAL(table.why_count, systems <= 64 ? 0 : 2);
        CU_ASSERT(systems <= 64 || table.whys[0].line == 130);
        ronde_published_close(&table);
    }
}

/* The version that is stated, or that its date makes likely: July of a year; 0 where neither is there. */
static void versions_are_stated_or_dated(void)
{
    static const struct {
        const char *cells; /**< version, notes, date */
        uint32_t version;
    } rows[] = {{"2.29.2,,2021-06", 229},
                {"2.29.2+cuda13.1,,", 229},
                {"RCCL 2.22.3,,", 222},
                {"2.18-1,,", 218},
                {",,2021-06", 208},
                {",,2024-02-11", 218},
                {",,2024", 220},
                {",,2024-13", 220},
                {",,", 0},
                {",,soon", 0},
                {",,1999", 0},
                /* NCCL's own number, and words around one. */
                {"22902,,", 229},
                {"2804,,", 208},
                {"v2.29.2,,", 229},
                {"NCCL version 2.21.5+cuda12.4,,", 221},
                {"2.18.x,,", 218},
                /* What is not understood is as good as nothing. */
                {"2,,2021-06", 208},
                {"2.,,", 0},
                {"2.100,,", 0},
                {"-2.29,,", 0},
                {"2.29x,,", 0},
                {"latest,,2024", 220},
                {"12345678,,", 0}};
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        char text[512];
        snprintf(text, sizeof text,
                 COLUMNS ",date\na,all_reduce,auto,auto,8,1,1048576,50,20.97,%s\n", rows[r].cells);
        struct ronde_published table = read_good(text);
        CU_ASSERT_EQUAL(table.rows[0].call.version, rows[r].version);
        ronde_published_close(&table);
    }
}

/* A version that is not understood is said; the row is predicted as of its date. */
static void unknown_versions_are_remarked_on(void)
{
    struct ronde_published table =
        read_good(HEAD "a,all_reduce,auto,auto,8,1,1048576,50,20.97,latest,\n");
    CU_ASSERT_EQUAL(table.rows[0].state, RONDE_PUBLISHED_PREDICTED);
    CU_ASSERT_EQUAL_FATAL(table.why_count, 1);
    CU_ASSERT_FALSE(table.whys[0].is_refused);
    CU_ASSERT_STRING_EQUAL(table.whys[0].text,
                           "nccl_version \"latest\" is not understood: taken as new");
    ronde_published_close(&table);
}

/* Rows of one reason are one group, in the order in which reasons come; what a machine cannot do is among them. */
static void reasons_are_gathered(void)
{
    static const char text[] =
        HEAD "none," ROW "\na,all_reduce,auto,auto,9,2,64,5,0.0128,,\nnone," ROW "\n"
             "a,all_reduce,auto,auto,9,2,64,5,0.0128,,\nA6000-NV-4," ROW "\n"
             "A6000-NV-4,all_reduce,auto,auto,1,1,1048576,50,20.97,2.29.2,\n"
             "A6000-NV-4,all_reduce,auto,auto,4,1,1048576,50,20.97,2.29.2,\n";
    static const struct {
        uint32_t first, last;
        size_t rows;
        const char *text;
    } groups[] = {{3, 5, 2, "9 gpus are not equally many on 2 nodes"},
                  {2, 4, 2, "no machine of system none is described"},
                  {6, 6, 1, "A6000-NV-4 has 4 GPUs a node, not 8"},
                  {7, 7, 1, "1 ranks on 1 nodes: at least 2 ranks, equally many on each"}};
    const struct ronde_nccl_constants constants = nccl_shipped();
    struct ronde_published table = read_good(text);
    struct ronde_published_whys whys;
    ronde_published_choose(&table, &constants);
    ronde_published_whys_of(&table, &whys);
    CU_ASSERT_EQUAL_FATAL(whys.count, 4);
    CU_ASSERT_EQUAL(whys.more, 0);
    for (size_t g = 0; g < 4; g++) {
        CU_ASSERT_EQUAL(whys.group[g].first_line, groups[g].first);
        CU_ASSERT_EQUAL(whys.group[g].last_line, groups[g].last);
        CU_ASSERT_EQUAL(whys.group[g].rows, groups[g].rows);
        CU_ASSERT_STRING_EQUAL(whys.group[g].text, groups[g].text);
    }
    ronde_published_close(&table);
}

/* Beyond so many reasons rows are counted. */
static void reasons_have_a_most(void)
{
    static char text[8192];
    struct ronde_published_whys whys;
    size_t used = (size_t)snprintf(text, sizeof text, HEAD "a," ROW "\n");
    for (unsigned row = 0; row < RONDE_PUBLISHED_MAX_WHYS + 3; row++)
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "a,all_reduce,auto,auto,x%u,1,64,5,0.0128,,\n", row);
    struct ronde_published table = read_good(text);
    ronde_published_whys_of(&table, &whys);
    CU_ASSERT_EQUAL(whys.count, RONDE_PUBLISHED_MAX_WHYS);
    CU_ASSERT_EQUAL(whys.more, 3);
    ronde_published_close(&table);
}

/* One system's rows are kept; the others' are not looked at. */
static void one_system_is_kept(void)
{
    static const char text[] = HEAD "a," ROW "\nb," ROW "\nA," ROW "\nb," ROW "\n";
    struct ronde_published table;
    CU_ASSERT_EQUAL_FATAL(read_of(text, "b", &table), RONDE_OK);
    CU_ASSERT_EQUAL(table.count, 2);
    CU_ASSERT_EQUAL(table.system_count, 1);
    CU_ASSERT_EQUAL(table.rows[1].line, 5);
    ronde_published_close(&table);
    CU_ASSERT_EQUAL(read_of(text, "c", &table), RONDE_BAD_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "no row of system c"));
    ronde_published_close(&table);
    CU_ASSERT_EQUAL(read_of(HEAD "a,x,x,x,8,1,64,5,7,,\nb," ROW "\n", "b", &table), RONDE_OK);
    CU_ASSERT_EQUAL(table.count, 1);
    CU_ASSERT_EQUAL(table.why_count, 0);
    ronde_published_close(&table);
}

/* A system without a description has none; a faulty description is an error of the whole, and names its own line. */
static void descriptions_are_those_of_the_folder(void)
{
    char folder[] = "published_read_XXXXXX", file[64];
    struct ronde_published table;
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/b.txt", folder);
    CU_ASSERT_FATAL(files_write(path, HEAD "a," ROW "\nb," ROW "\n"));
    CU_ASSERT_FATAL(files_write(file, "name b\ngeneration ada\ngpus 4\nlink pcie\npcie_GBps 16\n"));
    CU_ASSERT_EQUAL(ronde_published_read(path, folder, NULL, ronde_mem_default(), &table, &error),
                    RONDE_OK);
    CU_ASSERT_FALSE(table.systems[0].is_described);
    CU_ASSERT(table.systems[1].is_described);
    CU_ASSERT_EQUAL(table.systems[1].machine.gpus, 4);
    ronde_published_close(&table);
    CU_ASSERT_FATAL(files_write(file, "name b\ngpus none\n"));
    CU_ASSERT_EQUAL(ronde_published_read(path, folder, NULL, ronde_mem_default(), &table, &error),
                    RONDE_BAD_INPUT);
    CU_ASSERT_EQUAL(error.line, 2);
    CU_ASSERT_EQUAL(strncmp(error.message, file, strlen(file)), 0);
    ronde_published_close(&table);
    CU_ASSERT_EQUAL(unlink(path) + unlink(file) + rmdir(folder), 0);
    error = (struct ronde_error){.status = RONDE_OK};
    CU_ASSERT_EQUAL(ronde_published_read(path, folder, NULL, ronde_mem_default(), &table, &error),
                    RONDE_IO);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, path));
    ronde_published_close(&table);
}

int main(void)
{
    static const struct suite_case cases[] = {
        SUITE_CASE(cells_are_those_of_rfc_4180),
        SUITE_CASE(quotes_that_do_not_fit_are_refused),
        SUITE_CASE(columns_are_there_once),
        SUITE_CASE(headings_are_read_as_people_write_them),
        SUITE_CASE(columns_may_be_missing),
        SUITE_CASE(lines_have_a_longest),
        SUITE_CASE(a_zero_byte_leaves_a_line_out),
        SUITE_CASE(numbers_are_checked),
        SUITE_CASE(numbers_at_their_bounds_are_taken),
        SUITE_CASE(states_are_told_by_words),
        SUITE_CASE(systems_are_named_and_counted),
        SUITE_CASE(versions_are_stated_or_dated),
        SUITE_CASE(unknown_versions_are_remarked_on),
        SUITE_CASE(reasons_are_gathered),
        SUITE_CASE(reasons_have_a_most),
        SUITE_CASE(one_system_is_kept),
        SUITE_CASE(descriptions_are_those_of_the_folder),
    };
    return suite_run("published_read", cases, sizeof cases / sizeof cases[0]);
}
