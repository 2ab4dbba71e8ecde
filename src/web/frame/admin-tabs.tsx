import type { FC } from 'hono/jsx'

/** Tabs of the tool administration pages. */
export type AdminTab =
  | 'people'
  | 'tools'
  | 'policy'
  | 'credentials'
  | 'models'
  | 'audit'
  | 'admin/log'
  | 'admin/limits'
  | 'runners'

const tabs: Record<AdminTab, string> = {
  people: 'People',
  tools: 'Tools',
  policy: 'Policy',
  credentials: 'Credentials',
  models: 'Models',
  audit: 'Audit',
  'admin/log': 'Admin log',
  'admin/limits': 'Limits',
  runners: 'Runners',
}

/** Tabs of the admin pages; accounts other than admins see tools and audit only. */
export const AdminTabs: FC<{ here: AdminTab; isAdmin: boolean }> = ({ here, isAdmin }) => (
  <nav class="tabs" aria-label="Administration">
    {Object.entries(tabs)
      .filter(([tab]) => isAdmin || tab === 'tools' || tab === 'audit')
      .map(([tab, name]) => (
        <a
          href={tab === 'people' ? '/admin/people' : `/${tab}`}
          aria-current={tab === here ? 'page' : undefined}
        >
          {name}
        </a>
      ))}
  </nav>
)
