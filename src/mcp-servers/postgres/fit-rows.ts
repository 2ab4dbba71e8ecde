import { outside, postgresLimits } from '../../shared/config'
import { cutText } from '../../shared/cut-text'

export interface Column {
  name: string
  /** The type's number in `pg_type`. */
  type: number
}

/** Types that a JSON number holds without loss: smallint, integer, oid, real, double precision. */
const numberTypes = [21, 23, 26, 700, 701]
const boolean = 16
const jsonTypes = [114, 3802]

/** Limits rows and values to what a model can read, and notes what was left out. */
export function fitRows(
  answer: { columns: Column[]; rows: (string | null)[][] },
  limit: number,
  scrub: (text: string) => string,
): { columns: string[]; rows: unknown[][]; note: string } {
  const { columns } = answer
  const rows: unknown[][] = []
  let chars = 0
  let hasTruncated = false
  const read = (text: string | null, index: number): unknown => {
    if (text === null) return null
    const { valueCharsMax } = postgresLimits
    if (text.length <= valueCharsMax) return toValue(text, columns[index]?.type ?? 0)
    hasTruncated = true
    // Redact before truncating: the beginning of a secret would not be found.
    return `${cutText(scrub(text), valueCharsMax)}… [truncated: ${text.length} characters]`
  }
  for (const row of answer.rows.slice(0, limit)) {
    const values = row.map(read)
    chars += JSON.stringify(values).length
    if (chars > outside.answerCharsMax && rows.length > 0) break
    rows.push(values)
  }
  const notes = [
    rows.length < answer.rows.length && `There are more rows; these are the first ${rows.length}.`,
    hasTruncated && `Values longer than ${postgresLimits.valueCharsMax} characters were truncated.`,
  ]
  return { columns: columns.map(({ name }) => name), rows, note: notes.filter(Boolean).join(' ') }
}

/** Converts a value to its JSON type, or keeps PostgreSQL's text when JSON has none without loss. */
function toValue(text: string, type: number): unknown {
  if (type === boolean) return text === 't'
  if (numberTypes.includes(type)) {
    const number = Number(text)
    return Number.isFinite(number) ? number : text
  }
  // A JSON number with 16 digits or more would lose precision.
  return jsonTypes.includes(type) && !/\d{16}/.test(text) ? JSON.parse(text) : text
}
