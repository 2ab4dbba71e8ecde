/** The agent of `agents/` whose name examples have. */
export const starterAgent = 'scout'

/** The agents of `agents/`, which every hub loads. */
export const shippedAgents = ['archivist', starterAgent]

/** Returns the agent to try first among those of a hub; null when there is none. */
export const chooseStarter = (names: readonly string[]): string | null =>
  names.includes(starterAgent) ? starterAgent : (names[0] ?? null)

/** Questions about the hub itself that a new one proposes, by their names in links. */
export const firstQuestions = {
  model: 'How do I add a model?',
  spending: 'How do I limit spending?',
  agent: 'How do I make an agent?',
} as const

/** Returns the page whose form of a new post has one of these questions to an agent. */
export const toQuestionPath = (agent: string, question: keyof typeof firstQuestions): string =>
  `/posts-new?${new URLSearchParams({ ask: agent, question })}`
