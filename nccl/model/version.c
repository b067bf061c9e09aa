/** Which NCCL a machine had at a date that is all that is known. See nccl_model.h. */
#include "ronde/nccl_model.h"

/** Months from a release to where it is found installed: those of tables that state both version and date. */
enum { LAG_MONTHS = 4 };

/** First releases of minor versions (tags of github.com/NVIDIA/nccl): year, month, 100 major + minor. */
static const struct {
    uint16_t year, month, version;
} releases[] = {{2020, 7, 207}, {2020, 11, 208}, {2021, 4, 209},  {2021, 7, 210}, {2021, 9, 211},
                {2022, 3, 212}, {2022, 6, 213},  {2022, 8, 214},  {2022, 9, 215}, {2022, 12, 216},
                {2023, 3, 217}, {2023, 5, 218},  {2023, 10, 219}, {2024, 2, 220}, {2024, 4, 221},
                {2024, 6, 222}, {2024, 9, 223},  {2024, 12, 224}, {2025, 1, 225}, {2025, 3, 226},
                {2025, 5, 227}, {2025, 9, 228},  {2025, 12, 229}, {2026, 5, 230}};

uint32_t ronde_nccl_version_at(uint32_t year, uint32_t month)
{
    uint32_t version = releases[0].version;
    for (size_t r = 0; r < sizeof releases / sizeof releases[0]; r++)
        if (12u * releases[r].year + releases[r].month + LAG_MONTHS <= 12 * year + month)
            version = releases[r].version;
    return version;
}
