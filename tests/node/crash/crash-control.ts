import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Where agents are when the machine dies. */
export interface Aim {
  /** Points by agent: it goes no further. */
  held: ReadonlyMap<string, string>
  /** The machine dies during this effect of this agent, which begins when all others are held. */
  struck: { agent: string; effect: string }
}

/** Receives the point that each agent passes, and holds the agents where a test wants them to be. */
export class CrashControl {
  readonly #server: Server
  #aim: Aim | null = null
  #onHit = () => {}
  readonly #held = new Set<string>()
  /** Answers to the agent that is struck, until the others are held. */
  #gated: ServerResponse[] = []

  constructor() {
    this.#server = createServer((request, response) => {
      const url = new URL(request.url ?? '/', 'http://control')
      this.#pass(url.searchParams.get('agent') ?? '', url.pathname.slice(1), response)
    })
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Resolves when all agents are where the aim says: now the machine can die. */
  aim(aim: Aim): Promise<void> {
    this.#aim = aim
    return new Promise((resolve) => {
      this.#onHit = resolve
    })
  }

  release(): void {
    this.#aim = null
    this.#held.clear()
    this.#gated = []
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  /** Answers, unless the agent is to go no further. */
  #pass(agent: string, point: string, response: ServerResponse): void {
    if (this.#aim === null) return void response.end('go on')
    const { held, struck } = this.#aim
    if (held.get(agent) === point) this.#hold(agent, held.size)
    if (this.#held.has(agent)) return
    const isStruck = agent === struck.agent
    if (isStruck && point === `${struck.effect}.before` && this.#held.size < held.size) {
      return void this.#gated.push(response)
    }
    if (isStruck && point === `${struck.effect}.during`) this.#onHit()
    else response.end('go on')
  }

  #hold(agent: string, wanted: number): void {
    this.#held.add(agent)
    if (this.#held.size < wanted) return
    for (const response of this.#gated.splice(0)) response.end('go on')
  }
}
