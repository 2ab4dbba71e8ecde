import type * as z from 'zod'
import type { CallClass, RateClass } from '../../shared/config'
import type { AccountId } from '../../shared/ids'
import type { ApiTag } from './api-tags'

/** Why a call must not run now, for its caller. */
export interface RateRefusal {
  message: string
  retryAfterSeconds: number
}

/** What another module reports of a request that it handles, so that the hub can count it. */
export interface RequestCounts {
  /** Records whose key the request has. */
  recordCaller(accountId: AccountId): void
  /**
   * Counts a call in a class, beside the request itself: before it runs, and each call of a request that has many.
   * Null: it may run.
   */
  count(rateClass: CallClass): Promise<RateRefusal | null>
}

/** A route of the JSON API that another module handles, as listed in `/openapi.json` and `/docs`. */
export interface ModuleRoute {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** Below `/api/v1`, in Hono's notation. */
  path: string
  summary: string
  tag: ApiTag
  access: 'read' | 'write' | 'admin'
  /** The limit that counts calls. */
  rate: RateClass
  status: 200 | 201 | 202
  query?: z.ZodType
  body?: z.ZodType
  /** The body of a successful response, without `success`. */
  answer: z.ZodObject
}
