/** Limits of usage charts: series beyond the maximum are drawn as one. */
export const usageCharts = { seriesMax: 8, daysDefault: 30, tableRowsMax: 100 } as const

/** Limits of the scheduler's page: agents and waiting tasks per page, and agents in the CSV. */
export const schedulerPages = { agents: 50, tasks: 25, csvAgentsMax: 5_000 } as const

/** Limits of the list of runs. */
export const runLists = {
  pageDefault: 50,
  /** Newest runs that a filter and its totals look at; a later page goes on where they end. */
  scannedMax: 10_000,
  csvRowsMax: 10_000,
  textCharsMax: 200,
  /** Views that an account keeps, and the length of a view's name and filter. */
  viewsMax: 20,
  viewNameCharsMax: 60,
  viewQueryCharsMax: 1_000,
} as const

/** Feedback on answers: the length of a note, and what an agent's page shows. */
export const runFeedbackLimits = { noteCharsMax: 1_000, daysShown: 30, notesShown: 5 } as const

/** Limits of the list of spending by requester, and after what time a sweep counts a model call for it. */
export const requesterLists = { shown: 10, tasksMax: 6, lagMs: 3_600_000 } as const
