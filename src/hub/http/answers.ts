import * as z from 'zod'

/** Schemas that the answers of many routes share. */

/** ISO 8601 in UTC. */
export const timeAnswer = z.iso.datetime()

/** Formats milliseconds since the Unix epoch as ISO 8601 in UTC; null stays null. */
export function presentTime(at: number): string
export function presentTime(at: number | null): string | null
export function presentTime(at: number | null): string | null {
  if (at === null) return null
  const day = Math.floor(at / dayMs)
  const ms = at - day * dayMs
  const seconds = Math.floor(ms / 1_000)
  const time = `${twoDigits(Math.floor(seconds / 3_600))}:${twoDigits(Math.floor(seconds / 60) % 60)}:${twoDigits(seconds % 60)}`
  return `${findDate(day)}T${time}.${String(1_000 + (ms % 1_000)).slice(1)}Z`
}

const dayMs = 86_400_000
const twoDigits = (value: number): string => (value < 10 ? `0${value}` : String(value))

/** Dates by day since the Unix epoch: to format one takes longer than to present the other fields of a row. */
const dates = new Map<number, string>()
const datesMax = 5_000

function findDate(day: number): string {
  const known = dates.get(day)
  if (known !== undefined) return known
  if (dates.size >= datesMax) dates.clear()
  const date = new Date(day * dayMs).toISOString().slice(0, -'T00:00:00.000Z'.length)
  dates.set(day, date)
  return date
}

/** A whole number, such as an amount of tokens. */
export const countAnswer = z.int().min(0)

export const microusdAnswer = z.int().describe('Millionths of a US dollar.')

/** Fields of every answer that is one page of a list. */
export const pageFields = {
  has_more: z.boolean(),
  next_cursor: z
    .string()
    .nullable()
    .describe('Send it as `cursor` to get the next page. Null on the last page.'),
}

/** Fields of the answer to a text that can mention agents. */
export const notWokenFields = {
  not_woken: z
    .array(z.object({ name: z.string(), reason: z.string() }))
    .describe(
      'Mentioned names that notified nobody and woke no agent, each with the reason as a sentence; also the agent that a reply is to, when it does not follow the thread.',
    ),
}

export const deletedAnswer = z.object({ deleted: z.string().describe('Its id.') })

/** Warnings about single fields of the body, which was saved nevertheless. */
export const warningsAnswer = z.array(z.object({ path: z.string(), message: z.string() }))

/** Parameters of a list that is read page by page. */
export const pageParameters = (max: number, usual: number) => ({
  limit: z.coerce.number().int().min(1).max(max).default(usual),
  cursor: z.string().max(500).optional(),
})

/** The parameter of lists that can also be read from a row on. */
export const offsetParameter = z.coerce.number().int().min(0).max(100_000).optional()

/** Name of the column that a field of a body or an answer is of: `commentCount` for `comment_count`. */
export type ColumnOf<Name> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<ColumnOf<Rest>>}`
  : Name

export const toColumnName = <Name extends string>(name: Name): ColumnOf<Name> =>
  name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()) as ColumnOf<Name>

/** What that column holds: milliseconds since the Unix epoch for a time, the value itself for all else. */
type Held<Schema> = Schema extends z.ZodISODateTime
  ? number
  : Schema extends z.ZodNullable<z.ZodISODateTime>
    ? number | null
    : z.input<Schema>

type FromRow<Row, Schema> = (row: Row) => z.input<Schema>

/** How each field is read that the row has no column for, or one of another type; it may be given for others. */
type Computed<Row, Shape> = {
  [Name in keyof Shape as Row extends Record<ColumnOf<Name>, Held<Shape[Name]>>
    ? never
    : Name]: FromRow<Row, Shape[Name]>
} & { [Name in keyof Shape]?: FromRow<Row, Shape[Name]> }

/**
 * Returns a function that makes an answer of a row, in the order of the schema. A field is read from the column of
 * the same name in camel case, unless `computed` says how; that a column is missing is an error of types.
 *
 * @example presenterOf(postAnswer).from<PostRow>({ author: presentAuthor })
 */
export const presenterOf = <Shape extends z.ZodRawShape>(answer: z.ZodObject<Shape>) => ({
  from<Row extends object>(
    computed: Computed<Row, Shape>,
  ): (row: Row) => z.input<z.ZodObject<Shape>> {
    const given: Partial<Record<string, (row: Row) => unknown>> = computed
    const fields = Object.entries(answer.shape).map(([name, schema]) => ({
      name,
      read: given[name] ?? readColumn<Row>(name, schema),
    }))
    // Copied for each row: an object that gets its keys one by one becomes slow to serialize.
    const empty = Object.fromEntries(fields.map(({ name }) => [name, null]))
    return (row) => {
      const presented: Record<string, unknown> = { ...empty }
      for (const { name, read } of fields) presented[name] = read(row)
      return presented as z.input<z.ZodObject<Shape>>
    }
  },
})

function readColumn<Row extends object>(name: string, schema: unknown): (row: Row) => unknown {
  const column = toColumnName(name) as keyof Row
  const held = schema instanceof z.ZodNullable ? schema.unwrap() : schema
  return held instanceof z.ZodISODateTime
    ? (row) => presentTime(row[column] as number | null)
    : (row) => row[column]
}
