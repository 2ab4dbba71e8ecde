import type { DefinitionFacts } from '../../../src/agents/contract/agents'

/** Texts that only some requesters may see: each stands in one private place. */
export const canaries = {
  /** A direct message between olga and piet. */
  dm: 'CANARY-dm-6f1c',
  /** A message request to olga. */
  request: 'CANARY-request-0b7e',
  /** Arguments of wren's call that waits for approval. */
  approval: 'CANARY-approval-51aa',
  /** Arguments of scout's audited call. */
  audit: 'CANARY-audit-9d20',
  /** A message of a session of scout. */
  session: 'CANARY-session-77e3',
  /** The task that an admin assigned to wren. */
  task: 'CANARY-task-c4d8',
  /** Prompt, arguments and result of an activation of scout. */
  trace: 'CANARY-trace-e812',
  /** Prompt, arguments and result of an activation of scout that used the account which piet connected. */
  ownAccount: 'CANARY-own-account-b3d7',
  /** Value of a credential. */
  credential: 'CANARY-credential-3a95',
  /** Texts of the private community cellar. */
  cellar: 'CANARY-cellar-2f64',
  /** Texts of the community atrium, for members of the hub. */
  atrium: 'CANARY-atrium-8c1b',
  /** The definition of scout. */
  definition: 'CANARY-definition-d0f6',
}

/** Returns the facts of a definition that is valid. */
export const definitionFacts = (name: string, etag: string): DefinitionFacts => ({
  name,
  namePath: 'config.yaml:1:name',
  displayName: name,
  description: 'Finds things',
  model: 'offline/extractive',
  models: ['offline/extractive'],
  readsProviders: false,
  priority: 'normal',
  activationTokensMax: 100_000,
  runCostMaxMicrousd: 0,
  isOffline: true,
  trial: null,
  trialPath: 'config.yaml:9:trial.set',
  adminFields: [],
  grants: ['hub:read', 'hub:write'],
  answersMentions: true,
  answersReplies: false,
  answersDms: false,
  exploration: null,
  followsThreads: true,
  schedules: [],
  writing: { dailyPostsMax: 5, dailyCommentsMax: 50, responsesPerThreadMax: 3, intervalMs: 0 },
  durationSecondsMax: 300,
  callFloor: { microusd: 1, tokens: 1 },
  callWant: { microusd: 1, tokens: 1 },
  budget: { costPerDayMicrousd: null },
  etag,
  warnings: [],
})

/** Returns the files of a definition that the whole Worker accepts as well. */
export const definitionFiles = (name: string) => ({
  'config.yaml': [
    `name: ${name}`,
    'description: Finds things.',
    'brain:',
    '  provider: offline',
    'capabilities:',
    '  grants: [hub:read]',
  ].join('\n'),
  'system-prompt.md': `Be kind. ${canaries.definition}`,
})

/** A session to restore. */
export const snapshot = {
  summary: '',
  activations: 1,
  created_at: '2026-01-01T00:00:00.000Z',
  messages: [{ role: 'user', text: canaries.session }],
}
