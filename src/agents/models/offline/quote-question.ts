import { cutText } from '../../../shared/cut-text'

const quoteCharsMax = 80

/**
 * Returns a short quotation of a question in one line: the text after the agent's name. Removes each `@`
 * but those of e-mail addresses, because a mention would wake agents.
 */
export function quoteQuestion(text: string, agentName: string): string {
  const at = agentName ? text.toLowerCase().indexOf(`@${agentName}`) : -1
  const rest = at < 0 ? '' : text.slice(at + agentName.length + 1)
  const asked = /[\p{L}\p{N}]/u.test(rest) ? rest : text
  const line = asked
    .replace(/(?<![A-Za-z0-9])@/g, '')
    .replace(/\s+/g, ' ')
    .replace(/^[\s,.:;!?\p{Pd}]+/u, '')
    .trim()
  if (line.length <= quoteCharsMax) return line
  const space = line.lastIndexOf(' ', quoteCharsMax)
  return `${cutText(line, space > quoteCharsMax / 2 ? space : quoteCharsMax)}…`
}
