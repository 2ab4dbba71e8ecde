import { limitMax } from '../../hub/budgets/inputs'
import { invalidText } from '../form/form-state'

/** A parsed form field: null for an empty field. */
type Amount = number | null | typeof invalidText

/** Digits, optionally with thousands separators (U+2019 is an apostrophe): tokens have no decimals, so a comma is unambiguous. */
const tokensPattern = /^(\d{1,16}|\d{1,3}([,'\u2019 ]\d{3})+)$/

export function parseTokens(text: string): Amount {
  const trimmed = text.trim().replace(/[\u00a0\u202f]/g, ' ')
  if (trimmed === '') return null
  if (!tokensPattern.test(trimmed)) return invalidText
  const tokens = Number(trimmed.replace(/\D/g, ''))
  return tokens > limitMax ? invalidText : tokens
}

export const formatTokens = (tokens: number | null): string =>
  tokens === null ? '' : tokens.toLocaleString('en-US')

const percentPattern = /^(\d{1,3}(?:\.\d{1,6})?)\s*%?$/

/** Parses a percentage into a share from 0 to 1. */
export function parsePercent(text: string): Amount {
  const trimmed = text.trim()
  if (trimmed === '') return null
  const percent = percentPattern.exec(trimmed)?.[1]
  if (percent === undefined || Number(percent) > 100) return invalidText
  return Number((Number(percent) / 100).toFixed(8))
}

export const formatPercent = (share: number): string => String(Number((share * 100).toFixed(6)))

/** Parses the reset day, a day of the week from 1 (Monday) or of the month; `budgetInput` checks the range. */
export function parseResetDay(text: string): Amount {
  const trimmed = text.trim()
  if (trimmed === '') return null
  return /^\d{1,2}$/.test(trimmed) ? Number(trimmed) : invalidText
}
