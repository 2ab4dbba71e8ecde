import * as z from 'zod'
import type { CopiedTable } from './tables'

/** Shapes that backups and restores share. */

export const value = z.union([z.string(), z.number(), z.null()])

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

export const fileShape = z.object({
  key: z.string().min(1).max(1_024),
  body: z.string().describe('Base64.'),
  content_type: z.string().max(200).nullable(),
  metadata: z.record(z.string(), z.string()),
})

export const presentTable = ({ own, ...table }: CopiedTable): z.input<typeof tableAnswer> => ({
  ...table,
  has_two_passes: own.length > 0,
})
