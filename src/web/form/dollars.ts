import { limitMax } from '../../hub/budgets/inputs'
import { invalidText } from './form-state'

const MICROUSD = 1_000_000
/** Dollars with up to six decimals; no commas, which mean decimals or thousands depending on the country. */
const dollarsPattern = /^\$?(\d{1,10})(?:\.(\d{1,6}))?$/

/** Parses dollars into whole micro-dollars; null for an empty field. */
export function parseDollars(text: string): number | null | typeof invalidText {
  const trimmed = text.trim()
  if (trimmed === '') return null
  const [, dollars, rest = ''] = dollarsPattern.exec(trimmed) ?? []
  const microusd = Number(dollars) * MICROUSD + Number(rest.padEnd(6, '0'))
  return dollars === undefined || microusd > limitMax ? invalidText : microusd
}

/** Formats micro-dollars as `58.00` or `0.0005`, which `parseDollars` parses back. */
export const formatDollars = (microusd: number | null): string =>
  microusd === null ? '' : (microusd / MICROUSD).toFixed(6).replace(/0{1,4}$/, '')
