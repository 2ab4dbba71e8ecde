/** Names of tools that are left out, of which more are only counted. */
const namedMax = 50

/**
 * Returns how to use tools on this hub; null when the agent has none.
 *
 * @param leftOut tools that it was granted, but that the model does not take beside the others
 */
export function buildToolGuideLayer(toolNames: string[], leftOut: string[] = []): string | null {
  if (toolNames.length === 0) return null
  return [
    `Your tools: ${toolNames.join(', ')}.`,
    ...(leftOut.length > 0 ? [describeLeftOut(toolNames.length, leftOut)] : []),
    'A result that starts with "Error:" states what went wrong. Try another way, or say what is missing.',
    'Calls that do not depend on each other belong in one message: they run at the same time.',
  ].join('\n')
}

function describeLeftOut(taken: number, leftOut: string[]): string {
  const named = leftOut.slice(0, namedMax).join(', ')
  const rest = leftOut.length > namedMax ? ` and ${leftOut.length - namedMax} more` : ''
  return `Your model takes no more than ${taken} tools, so these are left out: ${named}${rest}. When a task needs one of them, say so, and that \`tools.allow\` in your definition chooses which tools you have.`
}
