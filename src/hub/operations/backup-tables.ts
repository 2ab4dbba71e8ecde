import * as z from 'zod'
import { knownFields } from '../../shared/known-fields'

/** Shapes that backups and restores share. */

export const value = z.union([z.string(), z.number(), z.null()])

const textEncoder = new TextEncoder()
const isAtMost = (bytesMax: number) => (text: string) => textEncoder.encode(text).length <= bytesMax

/** A value of a row. SQLite would store other text in the place of half a character. */
export const valueInput = z.union([
  z.string().refine((text) => text.isWellFormed(), 'Must be Unicode'),
  z.number(),
  z.null(),
])

export const tableAnswer = z
  .object({
    name: z.string(),
    columns: z.array(z.string()).describe('In the order of a row’s values.'),
    key: z.array(z.string()).describe('The columns that order its rows.'),
    has_two_passes: z
      .boolean()
      .describe('Rows refer to rows of the same table: a restore sends them twice.'),
  })
  .meta({ id: 'CopiedTable' })

export const fileShape = knownFields({
  key: z.string(),
  body: z.string().describe('Base64.'),
  content_type: z.string().nullable(),
  metadata: z.record(z.string(), z.string()),
})

/** Limits of R2: https://developers.cloudflare.com/r2/platform/limits/ */
const keyBytesMax = 1_024
const metadataBytesMax = 2_048

/** The key of a file, as a bucket takes it. */
export const fileKey = z
  .string()
  .min(1)
  .refine(isAtMost(keyBytesMax), `Must be at most ${keyBytesMax} bytes`)

/** Without a regular expression that would step through megabytes with a stack. */
const isBase64 = (text: string): boolean =>
  text.length % 4 === 0 && !/[^A-Za-z0-9+/=]/.test(text) && /^[^=]*={0,2}$/.test(text)

/** A file that a bucket takes. */
export const fileInput = fileShape.extend({
  key: fileKey,
  body: z.string().refine(isBase64, 'Must be Base64'),
  content_type: z
    .string()
    .max(200)
    .regex(/^[\x20-\x7e]+$/, 'Must be a media type')
    .nullable(),
  metadata: z
    .record(z.string(), z.string())
    .refine(
      (fields) => isAtMost(metadataBytesMax)(Object.entries(fields).flat().join('')),
      `Must be at most ${metadataBytesMax} bytes`,
    ),
})

export const presentTable = ({ own, ...table }: CopiedTable): z.input<typeof tableAnswer> => ({
  ...table,
  has_two_passes: own.length > 0,
})

/** A table as it is copied. */
export interface CopiedTable {
  name: string
  /** In the order of a row's values; `rowid` first where no column stands for it. */
  columns: string[]
  /** The columns that order it, and that a page begins after. */
  key: string[]
  /** Columns that refer to rows of the same table. */
  own: string[]
}

export interface ColumnRow {
  name: string
  sql: string
  column: string
  type: string
  /** Place in the primary key, from 1; 0: not part of it. */
  pk: number
}

export interface ReferenceRow {
  name: string
  column: string
  parent: string
}

/** A comment's parent is written before it, so rows in order find their parents. */
const inOrder = new Set(['comments'])

/** Returns the tables, each after those that it refers to. */
export function toTables(columns: ColumnRow[], references: ReferenceRow[]): CopiedTable[] {
  const tables = Map.groupBy(columns, ({ name }) => name)
  const order: string[] = []
  const visit = (name: string) => {
    if (order.includes(name)) return
    for (const { parent } of references.filter((each) => each.name === name)) {
      if (parent !== name) visit(parent)
    }
    order.push(name)
  }
  for (const name of [...tables.keys()].sort()) visit(name)
  return order.map((name) => toTable(name, tables.get(name) ?? [], references))
}

function toTable(name: string, rows: ColumnRow[], references: ReferenceRow[]): CopiedTable {
  const keys = rows.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk)
  const names = rows.map(({ column }) => column)
  const key = keys.map(({ column }) => column)
  const own = inOrder.has(name)
    ? []
    : references
        .filter((each) => each.name === name && each.parent === name)
        .map(({ column }) => column)
  const hasNoRowid = /WITHOUT ROWID/i.test(rows[0]?.sql ?? '')
  if (hasNoRowid || (keys.length === 1 && keys[0]?.type === 'INTEGER')) {
    return { name, columns: names, key, own }
  }
  return { name, columns: ['rowid', ...names], key: ['rowid'], own }
}
