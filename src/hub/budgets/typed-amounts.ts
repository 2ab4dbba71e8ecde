import { limitMax } from './inputs'

/** Amounts as people type them. What is none reads as undefined, an empty field as null. */
type Amount = number | null | undefined

const MICROUSD = 1_000_000
/** To the micro-dollar; no commas, which are decimals in one country and thousands in another. */
const dollarsForm = /^\$?(\d{1,10})(?:\.(\d{1,6}))?$/

/** A limit in whole micro-dollars; null means no limit. */
export function readLimit(text: string): Amount {
  const typed = text.trim()
  if (typed === '') return null
  const [, dollars, rest = ''] = dollarsForm.exec(typed) ?? []
  const microusd = Number(dollars) * MICROUSD + Number(rest.padEnd(6, '0'))
  return dollars === undefined || microusd > limitMax ? undefined : microusd
}

/** `58.00`, `0.0005`: as `readLimit` reads it back. */
export const writeLimit = (microusd: number | null): string =>
  microusd === null ? '' : (microusd / MICROUSD).toFixed(6).replace(/0{1,4}$/, '')

/** Thousands may be set apart: tokens have no decimals, so a comma means one thing only. */
const tokensForm = /^(\d{1,16}|\d{1,3}([,’' ]\d{3})+)$/

export function readTokens(text: string): Amount {
  const typed = text.trim().replace(/[\u00a0\u202f]/g, ' ')
  if (typed === '') return null
  if (!tokensForm.test(typed)) return undefined
  const tokens = Number(typed.replace(/\D/g, ''))
  return tokens > limitMax ? undefined : tokens
}

export const writeTokens = (tokens: number | null): string =>
  tokens === null ? '' : tokens.toLocaleString('en-US')

const percentForm = /^(\d{1,3}(?:\.\d{1,6})?)\s*%?$/

/** A share of a limit, typed in percent. */
export function readShare(text: string): Amount {
  const typed = text.trim()
  if (typed === '') return null
  const percent = percentForm.exec(typed)?.[1]
  if (percent === undefined || Number(percent) > 100) return undefined
  return Number((Number(percent) / 100).toFixed(8))
}

export const writeShare = (share: number): string => String(Number((share * 100).toFixed(6)))

/** Of a week from 1, Monday; of a month. Which of them a period has is for `budgetInput` to say. */
export function readResetDay(text: string): Amount {
  const typed = text.trim()
  if (typed === '') return null
  return /^\d{1,2}$/.test(typed) ? Number(typed) : undefined
}
