import * as z from 'zod'
import { postgresLimits } from '../../shared/config'

const { rowsDefault, rowsMax, sqlCharsMax, paramsMax, paramCharsMax } = postgresLimits

/** The arguments of both tools. */
export const statementInput = z.strictObject({
  database: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,39}$/, 'Must be the name of a database')
    .describe('Name of the database, as an admin declared it'),
  sql: z
    .string()
    .min(1)
    .max(sqlCharsMax)
    .refine(
      (sql) => !sql.includes('\0'),
      'Must not contain a NUL character, where the statement would end',
    )
    .describe('One statement; pass values from other people in params as $1, $2'),
  params: z
    .array(z.union([z.string().max(paramCharsMax), z.number(), z.boolean(), z.null()]))
    .max(paramsMax)
    .default([])
    .describe('Values of $1, $2 and so on; JSON as text'),
  limit: z.int().min(1).max(rowsMax).default(rowsDefault).describe('Maximum rows to return'),
})
