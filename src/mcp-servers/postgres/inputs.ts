import * as z from 'zod'
import { postgresLimits } from '../../config'

const { rowsDefault, rowsMax, sqlCharsMax, paramsMax, paramCharsMax } = postgresLimits

/** What both tools are given. */
export const statementInput = z.strictObject({
  database: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,39}$/, 'is the name of a database')
    .describe('Name of the database, as an admin declared it'),
  sql: z
    .string()
    .min(1)
    .max(sqlCharsMax)
    .refine((sql) => !sql.includes('\0'), 'holds a NUL character, at which it would end')
    .describe('One statement; values that come from others go into params as $1, $2'),
  params: z
    .array(z.union([z.string().max(paramCharsMax), z.number(), z.boolean(), z.null()]))
    .max(paramsMax)
    .default([])
    .describe('Values of $1, $2 and so on; JSON as text'),
  limit: z.int().min(1).max(rowsMax).default(rowsDefault).describe('Rows to answer at most'),
})
