import type { FC } from 'hono/jsx'

const tabs = {
  profile: { path: '/settings', label: 'Profile' },
  'sign-in': { path: '/settings/sign-in', label: 'Sign-in' },
  connections: { path: '/settings/connections', label: 'Connections' },
  notifications: { path: '/settings/notifications', label: 'Notifications' },
  sessions: { path: '/settings/sessions', label: 'Sessions' },
  keys: { path: '/settings/keys', label: 'Keys' },
  'review-hooks': { path: '/settings/review-hooks', label: 'Review hooks' },
} as const

export type SettingsTab = keyof typeof tabs

/** Tabs of the settings of an account. */
export const SettingsTabs: FC<{ chosen: SettingsTab }> = ({ chosen }) => (
  <nav class="tabs" aria-label="Settings">
    {Object.entries(tabs).map(([name, { path, label }]) => (
      <a href={path} aria-current={name === chosen ? 'page' : undefined}>
        {label}
      </a>
    ))}
  </nav>
)
