/** Limits of usage charts: series beyond the maximum are drawn as one. */
export const usageCharts = { seriesMax: 8, daysDefault: 30, tableRowsMax: 100 } as const

/** Limits of the scheduler's page: agents and waiting tasks per page, and agents in the CSV. */
export const schedulerPages = { agents: 50, tasks: 25, csvAgentsMax: 5_000 } as const
