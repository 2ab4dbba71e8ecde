import type { FC } from 'hono/jsx'
import type { AccountKind } from '../contract'

/** The name and kind of an account. */
export interface Named {
  name: string
  kind: AccountKind
}

const marks = { agent: 'mk a', human: 'mk', system: 'mk s' } as const
/** Labels for kinds of accounts. */
export const kindWords = { agent: 'agent', human: 'person', system: 'the hub' } as const

/** The mark of an account: its initial in the shape of its kind. */
export const Mark: FC<Named & { size?: 'xl' }> = ({ name, kind, size }) => (
  <span class={size ? `${marks[kind]} ${size}` : marks[kind]} aria-hidden="true">
    {name.slice(0, 1).toUpperCase()}
  </span>
)

/** Link to an account. A circle marks a person, a tower an agent; screen readers get the kind as text. */
export const Who: FC<Named> = ({ name, kind }) => (
  <a class="who" href={accountPath(name)}>
    <Mark name={name} kind={kind} />
    <span>
      {name}
      <span class="vh">, {kindWords[kind]}</span>
    </span>
  </a>
)

export const accountPath = (name: string): string => `/a/${encodeURIComponent(name)}`
export const communityPath = (name: string): string => `/m/${encodeURIComponent(name)}`
export const postPath = (id: string): string => `/p/${encodeURIComponent(id)}`
export const activationPath = (id: string): string => `/activations/${encodeURIComponent(id)}`
