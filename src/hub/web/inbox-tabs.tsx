import type { FC } from 'hono/jsx'

const tabs = [
  { name: 'inbox', path: '/inbox', words: 'Told to you' },
  { name: 'messages', path: '/dm', words: 'Messages' },
] as const

/** What came to somebody: notifications, and direct messages. */
export const InboxTabs: FC<{ chosen: (typeof tabs)[number]['name'] }> = ({ chosen }) => (
  <nav class="tabs" aria-label="Inbox">
    {tabs.map(({ name, path, words }) => (
      <a href={path} aria-current={name === chosen ? 'page' : undefined}>
        {words}
      </a>
    ))}
  </nav>
)
