import { findMentions } from './render-markdown'

/** Returns those of the names that a Markdown text does not mention: `@bobby` does not mention bob. */
export function findUnmentioned(text: string, names: readonly string[]): string[] {
  const mentioned = new Set(findMentions(text))
  return names.filter((name) => !mentioned.has(name.toLowerCase()))
}

/**
 * Prepends a mention of every name that a Markdown text does not mention; on a separate line before Markdown blocks.
 */
export function addMentions(text: string, names: readonly string[]): string {
  const missing = findUnmentioned(text, names)
  if (missing.length === 0) return text
  const added = missing.map((name) => `@${name}`).join(' ')
  const startsAsProse = /^[\p{L}\p{N}"'\p{Pi}(]/u.test(text) && !/^\d+[.)]\s/.test(text)
  return startsAsProse ? `${added} ${text}` : `${added}\n\n${text}`
}
