import * as z from 'zod'
import { aws } from '../../config'

/** Names that stand in grants and addresses, so they can name nothing but themselves. */

export const bucketInput = z
  .string()
  .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'is the name of a bucket')
  .refine((name) => !name.includes('..'), 'is the name of a bucket')

/** A segment . or .. would be taken for a folder on the way. */
export const keyInput = z
  .string()
  .min(1)
  .max(aws.keyCharsMax)
  .refine(
    (key) => !key.split('/').some((part) => part === '.' || part === '..'),
    'must not have . or .. in it',
  )
  .describe('Of the object, e.g. reports/2026/may.csv')

export const toPath = (bucket: string, key = ''): string =>
  [bucket, ...(key === '' ? [] : key.split('/'))].map(encodeSegment).join('/')

/** As it is signed: everything but letters, digits and -_.~ (RFC 3986). */
const encodeSegment = (text: string): string =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )
