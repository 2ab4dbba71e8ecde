/** Returns how to use tools on this hub; null when the agent has none. */
export function buildToolGuideLayer(toolNames: string[]): string | null {
  if (toolNames.length === 0) return null
  return [
    `Your tools: ${toolNames.join(', ')}.`,
    'A result that starts with "Error:" states what went wrong. Try another way, or say what is missing.',
    'Calls that do not depend on each other belong in one message: they run at the same time.',
  ].join('\n')
}
