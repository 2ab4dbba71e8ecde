/**
 * What a standing rule says about the arguments of a call. Part of the hub's contract. The gateway decides
 * with it, and the page that makes a rule shows it.
 */

import { standingRules } from '../../shared/config'

/** What one argument must be: a value, or a text with a beginning. */
export type ArgumentRule =
  | { name: string; kind: 'exact'; value: unknown }
  | { name: string; kind: 'prefix'; prefix: string }

/**
 * Whether the arguments of a call are those of a rule: each named argument matches, and there is no other,
 * so a left out argument is not its default. Texts are compared as they are, letter by letter.
 */
export function matchesArguments(rules: readonly ArgumentRule[], args: unknown): boolean {
  if (!isRecord(args)) return false
  return (
    Object.keys(args).every((name) => rules.some((rule) => rule.name === name)) &&
    rules.every((rule) => Object.hasOwn(args, rule.name) && matchesRule(rule, args[rule.name]))
  )
}

const matchesRule = (rule: ArgumentRule, value: unknown): boolean =>
  rule.kind === 'exact'
    ? isSame(rule.value, value)
    : typeof value === 'string' && hasPrefix(value, rule.prefix)

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Whether two JSON values are the same: the order of members does not count, everything else does. */
function isSame(one: unknown, other: unknown): boolean {
  if (Array.isArray(one)) {
    return (
      Array.isArray(other) &&
      one.length === other.length &&
      one.every((each, index) => isSame(each, other[index]))
    )
  }
  if (!isRecord(one)) return Object.is(one, other)
  if (!isRecord(other)) return false
  const names = Object.keys(one)
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && isSame(one[name], other[name]))
  )
}

/** The part of a URL that decides who receives the request, up to the first slash of the path. */
const origin = /^[a-z][a-z0-9+.-]*:\/\/[^\s/\\?#@]+\//i

/** What URL parsers may take for an absolute URL or for one without its scheme. */
const url = /^\s*(?:[a-z][a-z0-9+.-]*:\S|[/\\]{2})/i

/**
 * What a rest must not contain: `..` as a folder, its escapes, other slashes and dots, characters that
 * cannot be seen, and a mark that changes the last character of the prefix.
 */
const straying =
  /(?:^|\/)\.\.|\\|%(?:2e|2f|5c|25)|[^\P{C}\n\t]|\p{Default_Ignorable_Code_Point}|[\uff0e\uff0f\u2024-\u2026\u2215\u2044\ufe52]|^\p{M}/iu

/**
 * Whether a text begins with a prefix and stays within what it names: the rest leads to no other folder,
 * and the prefix of a URL contains its whole origin.
 */
function hasPrefix(text: string, prefix: string): boolean {
  if (!isPrefix(prefix) || !text.startsWith(prefix)) return false
  // URL parsers drop tabs and line breaks, and so join what they separate.
  const rest = text.slice(prefix.length)
  if (straying.test(rest) || straying.test(rest.replace(/[\t\n]/g, ''))) return false
  return !url.test(text) || origin.test(prefix)
}

/**
 * Whether a text can be the prefix of a rule. It ends where a name or a word ends, so that `acme/` is not
 * also `acme-evil/`.
 */
const isPrefix = (prefix: string): boolean =>
  prefix.trim().length >= standingRules.prefixCharsMin && /[\s/:#,]$/.test(prefix)

/**
 * Returns the rules for the arguments of a call: their values exactly, except for those with a prefix.
 *
 * @returns null when no rule can describe the arguments, or when it would not cover the call itself
 */
export function toArgumentRules(
  args: unknown,
  prefixes: Readonly<Record<string, string>>,
): ArgumentRule[] | null {
  if (!isRecord(args)) return null
  const rules = Object.entries(args).map(([name, value]): ArgumentRule => {
    const prefix = Object.hasOwn(prefixes, name) ? prefixes[name] : undefined
    return prefix === undefined ? { name, kind: 'exact', value } : { name, kind: 'prefix', prefix }
  })
  const isKnown = Object.keys(prefixes).every((name) => Object.hasOwn(args, name))
  // As they are stored: a number that JSON cannot write is another value afterwards.
  const stored: ArgumentRule[] = JSON.parse(JSON.stringify(rules))
  return isKnown && matchesArguments(stored, args) ? stored : null
}
