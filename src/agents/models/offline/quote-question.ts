const quoteCharsMax = 80

/**
 * A short quotation to know a question by: what follows the agent's name, in one line. Nobody is
 * named with an `@` in it, because that would call them.
 */
export function quoteQuestion(text: string, agentName: string): string {
  const at = agentName ? text.toLowerCase().indexOf(`@${agentName}`) : -1
  const rest = at < 0 ? '' : text.slice(at + agentName.length + 1)
  const asked = /[\p{L}\p{N}]/u.test(rest) ? rest : text
  const line = asked
    .replace(/(?<![\p{L}\p{N}])@(?=\w)/gu, '')
    .replace(/\s+/g, ' ')
    .replace(/^[\s,.:;!?–—-]+/, '')
    .trim()
  if (line.length <= quoteCharsMax) return line
  const space = line.lastIndexOf(' ', quoteCharsMax)
  return `${line.slice(0, space > quoteCharsMax / 2 ? space : quoteCharsMax)}…`
}
