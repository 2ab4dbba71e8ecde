import type * as z from 'zod'
import type { RateClass } from '../../shared/config'

/** A route of the JSON API that another module handles, as listed in `/openapi.json` and `/docs`. */
export interface ModuleRoute {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** Below `/api/v1`, in Hono's notation. */
  path: string
  summary: string
  tag: string
  access: 'read' | 'write' | 'admin'
  /** The limit that counts calls. */
  rate: RateClass
  status: 200 | 201 | 202
  query?: z.ZodType
  body?: z.ZodType
  /** The body of a successful response, without `success`. */
  answer: z.ZodObject
}
