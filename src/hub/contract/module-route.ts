import type * as z from 'zod'
import type { RateClass } from '../../shared/config'
import type { AccountId } from '../../shared/ids'

/** What another module reports of a request that it handles, so that the hub can count it. */
export interface RequestCounts {
  /** Records whose key the request has. */
  recordCaller(accountId: AccountId): void
  /**
   * Counts a call that can write, beside the request itself.
   *
   * @throws RATE_LIMITED
   */
  countWrite(): Promise<void>
}

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
