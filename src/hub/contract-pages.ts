/** How other rooms show pages in the hub's frame, and document their routes. Part of its contract. */
import type { D1PreparedStatement, D1Result } from '@cloudflare/workers-types'
import type { Child, FC } from 'hono/jsx'
import type * as z from 'zod'
import type { AccountKind, Person } from './contract-activations'

/**
 * A page, or what its form sends to, of another room. The hub knows who asks and makes the frame; what
 * a form holds is read by the room alone, so that a credential never passes through the hub (M5).
 */
export interface RoomPage {
  method: 'get' | 'post'
  /** In Hono's notation. */
  path: string
  /** `admin`: for admins; `member`: for whoever is signed in. */
  access: 'admin' | 'member'
  answer(ask: PageAsk): Promise<Response>
}

export interface PageAsk {
  request: Request
  param(name: string): string
  /** Who sends a form, from a page of this hub. @throws for what is only looked at */
  sender(): Person
  /**
   * Runs the page's reads with its viewer, in one round trip. The only way to show a page.
   *
   * @throws what becomes a page that says what to do, when this is not for the viewer
   */
  read(statements: D1PreparedStatement[]): Promise<PageView>
  /** After a form, or to where the viewer should be. */
  goTo(path: string): Response
}

export interface PageView {
  viewer: { id: string; name: string; kind: AccountKind; isAdmin: boolean }
  /** Milliseconds since the Unix epoch: the page's one idea of now. */
  now: number
  results: D1Result<Record<string, unknown>>[]
  show(page: RoomPageBody): Promise<Response>
}

/** Pages about tools, and the tab that each has. */
export type AdminTab = 'tools' | 'policy' | 'credentials' | 'audit'

export interface RoomPageBody {
  title: string
  /** The tab that it stands under. */
  tab: AdminTab
  body: Child
  status?: number
}

/** What went wrong with a form, in words for the page that shows it again. */
export interface PageProblem {
  message: string
  hint: string | null
}

/** Parts of pages that look the same everywhere. */
export interface PageParts {
  Ago: FC<{ at: number; now: number }>
  Who: FC<{ name: string; kind: AccountKind }>
  Problem: FC<{ problem: PageProblem | null }>
  /** An error as the problem of a form; what nobody foresaw says nothing of its cause. */
  toProblem(error: unknown): PageProblem & { status: number }
}

/** A route of the JSON API that another room answers, as `/openapi.json` and `/docs` tell it. */
export interface RoomRoute {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** Below `/api/v1`, in Hono's notation. */
  path: string
  summary: string
  tag: string
  access: 'read' | 'write' | 'admin'
  status: 200 | 201 | 202
  query?: z.ZodType
  body?: z.ZodType
}
