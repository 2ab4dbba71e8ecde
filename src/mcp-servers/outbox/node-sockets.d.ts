/** What the mail library and its adapter use of Node's modules, which workerd has with `nodejs_compat`. */

declare module 'node:events' {
  export class EventEmitter {
    // biome-ignore lint/suspicious/noExplicitAny: listeners have the arguments of their event
    on(event: string, listener: (...args: any[]) => void): this
    // biome-ignore lint/suspicious/noExplicitAny: listeners have the arguments of their event
    once(event: string, listener: (...args: any[]) => void): this
    // biome-ignore lint/suspicious/noExplicitAny: listeners have the arguments of their event
    off(event: string, listener: (...args: any[]) => void): this
  }
}

declare module 'node:net' {
  import type { EventEmitter } from 'node:events'
  export interface Socket extends EventEmitter {
    destroy(): void
  }
  export function connect(to: { host: string; port: number }): Socket
}

declare module 'node:tls' {
  import type { Socket } from 'node:net'
  export function connect(to: { host: string; port: number }): Socket
}
