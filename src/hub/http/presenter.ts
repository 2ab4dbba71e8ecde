import * as z from 'zod'
import { presentTime } from './answers'

/** Name of the column that a field of an answer is of: `commentCount` for `comment_count`. */
type ColumnOf<Name> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<ColumnOf<Rest>>}`
  : Name

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
  const column = name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()) as keyof Row
  const held = schema instanceof z.ZodNullable ? schema.unwrap() : schema
  return held instanceof z.ZodISODateTime
    ? (row) => presentTime(row[column] as number | null)
    : (row) => row[column]
}
