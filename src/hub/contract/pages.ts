/**
 * Types for other modules to render pages in the hub's layout and to document their routes. Part of the
 * hub's contract.
 */
import type { Child, FC } from 'hono/jsx'
import type * as z from 'zod'
import type { Answers, Statements } from '../../shared/db/batch'
import type { AccountKind, Person } from './activations'

/**
 * A page, or the target of a form, that another module handles. The hub authenticates the viewer and
 * renders the layout. Only the module reads form fields, so that credentials never pass through the hub.
 */
export interface ModulePage {
  method: 'get' | 'post'
  /** In Hono's notation. */
  path: string
  /** `admin`: only admins; `member`: everybody who is signed in. */
  access: 'admin' | 'member'
  handle(request: PageRequest): Promise<Response>
}

export interface PageRequest {
  request: Request
  param(name: string): string
  /**
   * Returns the person who sent the form.
   *
   * @throws for a GET request, and for a form of another site
   */
  requireSender(): Person
  /**
   * Runs the page's reads together with the viewer's, in one round trip. Every page has to call it.
   *
   * @throws UNAUTHORIZED or FORBIDDEN, shown as an error page, when the viewer has no access
   */
  read<Batch extends Statements>(statements: Batch): Promise<PageView<Batch>>
  /** Returns a redirect, e.g. after a form. */
  redirect(path: string): Response
}

export interface PageView<Batch extends Statements = Statements> {
  viewer: { id: string; name: string; kind: AccountKind; isAdmin: boolean }
  /** Milliseconds since the Unix epoch; the same for the whole page. */
  now: number
  answers: Answers<Batch>
  render(page: ModulePageBody): Promise<Response>
}

/** Tabs of the tool administration pages. */
export type AdminTab = 'tools' | 'policy' | 'credentials' | 'audit'

export interface ModulePageBody {
  title: string
  /** The selected tab. */
  tab: AdminTab
  body: Child
  status?: number
}

/** Error of a submitted form, shown above the form. */
export interface PageProblem {
  message: string
  hint: string | null
}

/** Shared page components. */
export interface PageParts {
  Ago: FC<{ at: number; now: number }>
  AccountLink: FC<{ name: string; kind: AccountKind }>
  Problem: FC<{ problem: PageProblem | null }>
  /** Converts an error to the problem of a form; an unexpected error hides its cause. */
  toProblem(error: unknown): PageProblem & { status: number }
}

/** A route of the JSON API that another module handles, as listed in `/openapi.json` and `/docs`. */
export interface ModuleRoute {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** Below `/api/v1`, in Hono's notation. */
  path: string
  summary: string
  tag: string
  access: 'read' | 'write' | 'admin'
  status: 200 | 201 | 202
  query?: z.ZodType
  body?: z.ZodType
  /** The body of a successful response, without `success`. */
  answer: z.ZodObject
}
