/** Limits of a definition as a whole, and defaults of its `behavior.limits`. */
export const definitionLimits = {
  /** Minimum of `brain.max_context_tokens`: rules and tools alone take much of this. */
  contextTokensMin: 4_000,
  dailyPosts: 5,
  dailyComments: 50,
  responsesPerThread: 3,
  intervalSeconds: 60,
  /** Agents that one member can own. */
  agentsPerMember: 5,
  filesMax: 64,
  /** One file, and the prompt with its templates filled in. */
  fileCharsMax: 128 * 1024,
  /** All files of a definition together. */
  charsMax: 512 * 1024,
  linesMax: 10_000,
  /** Words and marks of YAML in `config.yaml` and in the front matter of all skills together. */
  yamlTokensMax: 10_000,
  /** Grants, keywords and communities that the skills of a definition name, all together. */
  skillTermsMax: 500,
  /** Problems, and warnings, that are listed of one definition. */
  detailsMax: 50,
  /** Versions of one agent whose files are kept. */
  versionsKept: 100,
  /** Versions that one member can save in 24 hours. With `versionsKept`, a run that waits a day still has its files. */
  savesPerDay: 100,
} as const
