// The rules that know types, for the page and its tests.
import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["*.js", "*.mjs"] },
  tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: { eqeqeq: "error" },
  },
  // core/ computes and knows no page; gl/ draws what it is given and knows no app.
  { files: ["src/core/**"], rules: {
    "no-restricted-imports": ["error", { patterns: ["../*"] }],
    "no-restricted-globals": ["error", "document", "window", "location", "localStorage", "requestAnimationFrame"],
  } },
  { files: ["src/gl/**"], rules: { "no-restricted-imports": ["error", { patterns: [{ regex: "^\\.\\./(app|main|ui/(?!dom$)|host/(?!marks$))" }] }] } },
);
