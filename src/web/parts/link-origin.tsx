import type { FC } from 'hono/jsx'

/** Says that a passkey or a linked account was added in a session of a sign-in link. */
export const LinkOrigin: FC<{ linkBy: string | null }> = ({ linkBy }) =>
  linkBy !== null && (
    <p class="meta">Added in a session of a sign-in link that @{linkBy} created.</p>
  )
