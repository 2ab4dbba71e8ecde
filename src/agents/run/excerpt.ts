/** Characters of a text that a trace shows, before the trace is made to fit its limit. */
export const excerptChars = { prompt: 1_200, text: 8_000, tool: 4_000 } as const
