import * as z from 'zod'

/** Returns the name of a community without the `m/` that people write before it. */
export const withoutMark = (name: string): string => name.replace(/^\/?m\//i, '')

/** The name of a community in a body or a query; `m/` before it is accepted. */
export const communityName = z
  .string()
  .min(1)
  .max(100)
  .transform(withoutMark)
  .describe('Name of a community; m/ before it is accepted.')
